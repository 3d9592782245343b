"""`gossamer pages`: the pages of a crawl, or all its URLs."""

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from gossamer.cli.output import put, put_json, put_lines
from gossamer.cli.parameters import CrawlName, Directory, Json, StoreUrl, the_crawl
from gossamer.errors import CrawlError, UsageError
from gossamer.model import Outcome
from gossamer.observe import printable
from gossamer.observe.figures import count
from gossamer.stores.contract import PageRecord, UrlState
from gossamer.stores.embedded.sqlite.reader import ListedUrl, state_of
from gossamer.views.stored_crawl import SAVED_PAGES, StoredCrawl, View

StateName = Literal["waiting", "in-work", "finished", "too_deep"]

LONGEST = 10_000
"""More than the longest URL."""


def pages(
    *,
    directory: Directory = None,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    every: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    state: StateName | None = None,
    outcome: Outcome | None = None,
    cat: int | None = None,
    json: Json = False,
) -> int:
    """List the pages of a crawl by number; or its URLs, as they were found.

    Parameters
    ----------
    directory
        The directory of the crawl; by default this one, or the only crawl right below it.
    store
        Where the crawl is instead: redis://HOST, or sqlite:PATH.
    crawl
        The name of the crawl in a shared store; by default the only one there.
    every
        List every URL that is known, with where it stands.
    state
        List the URLs that are in this state.
    outcome
        List the URLs that ended so.
    cat
        Write the body of this page, byte for byte. A terminal gets it with its control characters
        escaped.
    json
        Print one JSON object a line.

    """
    with the_crawl(directory, store, crawl, View(page=cat)) as kept:
        if cat is not None:
            if every or state or outcome or json:
                raise UsageError("--cat writes one page as it is: give no other option with it")
            _write_body(kept, cat)
        elif every or state or outcome:
            places = [one for one in UrlState if state in (None, state_of(one).replace("_", "-"))]
            urls = kept.reader.urls(places, outcome)
            _put(urls, _url_lines(urls), json=json)
        else:
            found = kept.reader.pages()
            _put(found, _page_lines(kept, found), json=json)
    return 0


def _put(records: Iterable[msgspec.Struct], lines: Iterable[str], *, json: bool) -> None:
    if json:
        put_json(records)
    else:
        put_lines(lines)


def _page_lines(crawl: StoredCrawl, pages: Iterable[PageRecord]) -> Iterator[str]:
    last, largest = crawl.reader.last_page(), crawl.reader.largest_page()
    wide, wider = max(4, len(str(last))), max(5, len(count(largest)))
    yield f"{'page':>{wide}}  depth  {'bytes':>{wider}}  URL"
    for one in pages:
        url = printable(one.url, LONGEST)
        yield f"{one.id:>{wide}}  {one.depth:>5}  {one.bytes:>{wider},}  {url}"


def _url_lines(urls: Iterable[ListedUrl]) -> Iterator[str]:
    wide = max(len(outcome) for outcome in Outcome)
    yield f"depth  {'state':<{wide}}  URL"
    for one in urls:
        stands = (one.outcome or one.state).replace("_", " ")
        yield f"{one.depth:>5}  {stands:<{wide}}  {printable(one.url, LONGEST)}"


def _write_body(crawl: StoredCrawl, number: int) -> None:
    page = crawl.reader.page(number)
    if page is None:
        last = crawl.reader.last_page()
        there_are = f"the pages are numbered 1 to {last}" if last else "no page was kept so far"
        raise CrawlError(f"there is no page {number}: {there_are}")
    body = crawl.reader.body(number)
    if body is None:
        raise CrawlError(f"the body of page {number} has expired{_elsewhere(crawl, number)}")
    put([_escaped(body, page.encoding) if sys.stdout.isatty() else body])


def _elsewhere(crawl: StoredCrawl, number: int) -> str:
    """Return where else the body may be."""
    saved = crawl.results and crawl.results / SAVED_PAGES / str(number)
    if saved and saved.is_file():
        return f"; it was saved as {saved}"
    return "; --ttl says how long bodies are kept, and the module 'save' writes them to files"


def _escaped(body: bytes, encoding: str) -> bytes:
    """Return the text with what could control a terminal escaped."""
    try:
        text = body.decode(encoding, "replace")
    except LookupError:  # what browsers know and Python does not
        text = body.decode("utf-8", "replace")
    lines = (line.replace("\t", "    ") for line in text.splitlines())
    shown = "".join(f"{printable(line, len(line) + 1)}\n" for line in lines)
    return shown.encode(sys.stdout.encoding, "backslashreplace")
