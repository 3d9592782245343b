"""`gossamer pages`: the pages of a crawl, or all of its URLs."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.cli.output import as_json, as_line, put, put_stream
from gossamer.cli.parameters import JsonLines, parse_outcome, reads_crawl
from gossamer.display import printable
from gossamer.display.formatting import count
from gossamer.model import Outcome
from gossamer.model.errors import UsageError
from gossamer.stores.crawl_views import ReadRequest, state_of
from gossamer.stores.url_record import UrlState
from gossamer.views.crawls import StoredCrawl, UrlEntry, list_urls, open_crawl, read_body

StateName = Literal["waiting", "in-progress", "finished", "too-deep"]

LONGEST = 10_000
"""More than the longest URL."""


@reads_crawl
def pages(
    request: ReadRequest,
    *,
    every: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    state: StateName | None = None,
    outcome: str | None = None,
    cat: int | None = None,
    json: JsonLines = False,
) -> int:
    """List the pages of a crawl by number, or its URLs in the order of discovery.

    Parameters
    ----------
    every
        List every known URL, with its state.
    state
        List the URLs in this state.
    outcome
        List the URLs with this outcome, such as not_found; 'gossamer status' counts them.
    cat
        Write the body of the page with this number, byte for byte. In a terminal, control
        characters are escaped.
    """
    wanted = None if outcome is None else parse_outcome(outcome, [*Outcome])
    if cat is not None:
        if every or state or wanted or json:
            raise UsageError(
                "--cat writes one page as it is: leave out --all, --state, --outcome and --json"
            )
        asyncio.run(_write_body(request, cat))
    elif every or state or wanted:
        asyncio.run(_list_urls(request, state, wanted, json=json))
    else:
        asyncio.run(_list_pages(request, json=json))
    return 0


async def _list_pages(request: ReadRequest, *, json: bool) -> None:
    async with open_crawl(request) as crawl:
        if json:
            await put_stream(as_json(page) async for page in crawl.reader.pages())
        else:
            await put_stream(as_line(line) async for line in _page_lines(crawl))


async def _list_urls(
    request: ReadRequest, state: StateName | None, outcome: Outcome | None, *, json: bool
) -> None:
    states = {known for known in UrlState if state in (None, state_of(known).replace("_", "-"))}
    async with open_crawl(request) as crawl:
        rows = list_urls(crawl, states, outcome)
        if json:
            await put_stream(as_json(row) async for row in rows)
        else:
            await put_stream(as_line(line) async for line in _url_lines(rows))


async def _page_lines(crawl: StoredCrawl) -> AsyncIterator[str]:
    last = await crawl.reader.last_page()
    largest = (crawl.options and crawl.options.max_body_bytes) or 0
    wide, wider = max(4, len(str(last))), max(5, len(count(largest)))
    yield f"{'page':>{wide}}  depth  {'bytes':>{wider}}  URL"
    async for page in crawl.reader.pages():
        url = printable(page.url, LONGEST)
        yield f"{page.id:>{wide}}  {page.depth:>5}  {page.bytes:>{wider},}  {url}"


async def _url_lines(rows: AsyncIterator[UrlEntry]) -> AsyncIterator[str]:
    wide = max(len(outcome) for outcome in Outcome)
    yield f"depth  {'state':<{wide}}  URL"
    async for row in rows:
        state = (row.outcome or row.state).replace("_", " ")
        yield f"{row.depth:>5}  {state:<{wide}}  {printable(row.url, LONGEST)}"


async def _write_body(request: ReadRequest, number: int) -> None:
    async with open_crawl(request) as crawl:
        page, body = await read_body(crawl, number)
    put([_escaped(body, page.encoding) if sys.stdout.isatty() else body])


def _escaped(body: bytes, encoding: str) -> bytes:
    """Return the text with everything escaped that could control a terminal."""
    try:
        text = body.decode(encoding, "replace")
    except LookupError:  # what browsers know and Python does not
        text = body.decode("utf-8", "replace")
    lines = (line.replace("\t", "    ") for line in text.splitlines())
    shown = "".join(f"{printable(line, len(line) + 1)}\n" for line in lines)
    return shown.encode(sys.stdout.encoding, "backslashreplace")
