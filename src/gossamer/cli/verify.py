"""`gossamer verify`: whether the stored state of a crawl passes every check."""

import asyncio
import time
from collections.abc import Iterator

from gossamer.cli.output import put_found
from gossamer.cli.parameters import CrawlName, Directory, Json, StoreUrl, crawl_to_read
from gossamer.display import printable
from gossamer.display.formatting import count, visited
from gossamer.model.errors import ExitCode
from gossamer.views.verify import Verification
from gossamer.views.verify import verify as verified


def verify(
    directory: Directory = None,
    *,
    store: StoreUrl = None,
    name: CrawlName = None,
    json: Json = False,
) -> int:
    """Check that a crawl lost nothing, did nothing twice and counted right.

    It may be running: then a consistent snapshot is checked. The exit code is 1 if a check fails.
    """
    found = asyncio.run(verified(crawl_to_read(directory, store, name), time.time()))
    put_found(found, verification_lines, json=json)
    return 0 if found.sound else ExitCode.FAILED


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the result for people: one line if all is well, else every check that failed."""
    where, checks = printable(found.where), len(found.findings)
    broken = [finding for finding in found.findings if finding.broken]
    if not broken:
        snapshot = ", in a consistent snapshot of the running crawl" if found.running else ""
        pages = visited(found.pages, found.visits)
        yield f"{where}: all {checks} checks passed on {pages}{snapshot}"
        return
    yield f"{where}: {len(broken)} of {checks} checks failed"
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
        yield "  The other checks were not made: the crawl cannot be read any further."
