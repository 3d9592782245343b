"""`gossamer verify`: whether a crawl keeps its promises."""

import time
from collections.abc import Iterator

from gossamer.cli.output import put_json, put_lines
from gossamer.cli.parameters import CrawlName, Directory, Json, StoreUrl, the_crawl
from gossamer.observe import printable
from gossamer.observe.figures import count, counted
from gossamer.views.stored_crawl import View
from gossamer.views.verify import Verification
from gossamer.views.verify import verify as verified

EXIT_BROKEN = 1


def verify(
    *,
    directory: Directory = None,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    json: Json = False,
) -> int:
    """Check from its stored state that a crawl lost nothing, did nothing twice and counted right.

    It may be running: it is checked as it is at one moment. The exit
    code is 1 if a promise is broken.

    Parameters
    ----------
    directory
        The directory of the crawl; by default this one, or the only crawl right below it.
    store
        Where the crawl is instead: redis://HOST, or sqlite:PATH.
    crawl
        The name of the crawl in a shared store; by default the only one there.
    json
        Print one JSON object.

    """
    with the_crawl(directory, store, crawl, View(links=True, audit=True)) as kept:
        found = verified(kept, time.time())
    if json:
        put_json([found])
    else:
        put_lines(verification_lines(found))
    return 0 if found.sound else EXIT_BROKEN


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the result for people: one line if all is well, else every promise that is broken."""
    where = printable(found.directory)
    broken = [finding for finding in found.findings if finding.broken]
    if not broken:
        moment = ", as it is at this moment" if found.running else ""
        yield (
            f"{where} is sound{moment}: {counted(found.urls, 'URL')} and "
            f"{counted(found.pages, 'page')} keep {counted(len(found.findings), 'rule')}"
        )
        return
    rules = counted(len(found.findings), "rule")
    are = "is" if len(broken) == 1 else "are"
    yield f"{where} is NOT sound: {len(broken)} of {rules} {are} broken"
    for finding in broken:
        yield ""
        yield f"  {finding.rule}: {finding.promise}"
        for example in finding.examples:
            yield f"    {printable(example, 10_000)}"
        more = finding.broken - len(finding.examples)
        if more:
            yield f"    … and {count(more)} more"
    if not found.complete:
        yield ""
        yield "  The rest could not be checked."
