"""The URLs of a crawl as rows of a list, and the bodies of its pages."""

from collections.abc import AsyncIterator, Collection

import msgspec

from gossamer.errors import CrawlError
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import PageRecord, UrlState
from gossamer.stores.reading import ANY_STATE, ListedUrl, State, state_of
from gossamer.views.stored_crawl import StoredCrawl

SAVED_PAGES = "pages"
"""The folder in which the module `save` writes."""


class UrlEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A URL in a list."""

    id: int | None
    """The number of its page, if it has one."""
    url: Url
    depth: int
    outcome: Outcome | None
    bytes: int | None
    """The size of its page."""
    state: State
    url_state: str
    host: HostKey
    score: float | None
    queue: int | None
    attempts: int
    detail: str
    found_at: float
    finished_at: float | None


class PageBody(msgspec.Struct, frozen=True):
    """A page with its body."""

    page: PageRecord
    body: bytes


async def list_urls(
    crawl: StoredCrawl,
    states: Collection[UrlState] = ANY_STATE,
    outcome: Outcome | None = None,
) -> AsyncIterator[UrlEntry]:
    """Yield the URLs in one of the states, in the order of discovery."""
    async for one in crawl.reader.urls(states, outcome):
        yield _entry(one)


def _entry(listed: ListedUrl) -> UrlEntry:
    record = listed.record
    return UrlEntry(
        id=record.page_id,
        url=record.url,
        depth=record.depth,
        outcome=record.outcome,
        bytes=listed.bytes,
        state=state_of(record.state),
        url_state=record.state.name.lower(),
        host=record.host,
        score=record.score,
        queue=record.queue,
        attempts=record.attempts,
        detail=record.detail,
        found_at=record.found_at,
        finished_at=record.finished_at,
    )


async def read_body(crawl: StoredCrawl, number: int) -> PageBody:
    """Return a page with its body; a CrawlError says why there is none."""
    page = await crawl.reader.page(number)
    if page is None:
        last = await crawl.reader.last_page()
        there_are = f"the pages are numbered 1 to {last}" if last else "no page has been kept yet"
        raise CrawlError(f"there is no page {number}: {there_are}")
    body = await crawl.reader.content(number)
    if body is None:
        raise CrawlError(f"the body of page {number} has expired{_elsewhere(crawl, number)}")
    return PageBody(page, body)


def _elsewhere(crawl: StoredCrawl, number: int) -> str:
    """Return where else the body may be."""
    saved = crawl.directory and crawl.directory / SAVED_PAGES / str(number)
    if saved and saved.is_file():
        return f"; it was saved as {saved}"
    return "; --ttl says how long bodies are kept, and the module 'save' writes them to files"
