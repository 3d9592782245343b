"""The URLs of a crawl as rows of a list, and the bodies of its pages."""

from collections.abc import AsyncIterator, Collection

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.model.errors import CrawlError
from gossamer.modules.page_directory import FOLDER, saved_folders
from gossamer.stores.reading import ANY_STATE, State, state_of
from gossamer.stores.url_record import PageRecord, UrlRecord, UrlState
from gossamer.views.crawls import StoredCrawl

_OF_THE_RECORD = (
    *("url", "depth", "outcome", "host", "score", "queue", "attempts", "detail"),
    *("found_at", "finished_at"),
)


class RepeatedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page that a URL repeats, and how similar they are."""

    id: int
    """Its number."""
    url: Url | None
    """None while it is in progress."""
    similarity: float
    """Of the whole text, from 0 to 1; 1 if the content is the same."""
    own_similarity: float
    """Of the own contents, without navigation, header, footer and sidebar."""


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
    duplicate_of: RepeatedPage | None
    found_at: float
    finished_at: float | None


async def list_urls(
    crawl: StoredCrawl, states: Collection[UrlState] = ANY_STATE, outcome: Outcome | None = None
) -> AsyncIterator[UrlEntry]:
    """Yield the URLs in one of the states, in the order of discovery."""
    async for listed in crawl.reader.urls(states, outcome):
        record = listed.record
        yield UrlEntry(
            id=record.page_id,
            bytes=listed.bytes,
            duplicate_of=repeated_page(record, listed.original),
            state=state_of(record.state),
            url_state=record.state.name.lower(),
            **{name: getattr(record, name) for name in _OF_THE_RECORD},
        )


async def read_body(crawl: StoredCrawl, number: int) -> tuple[PageRecord, bytes]:
    """Return a page and its body; a CrawlError says why there is none."""
    reader = crawl.reader
    page = await reader.page(number)
    if page is None:
        last = await reader.last_page()
        there_are = f"the pages are numbered 1 to {last}" if last else "no page has been kept yet"
        raise CrawlError(f"there is no page {number}: {there_are}")
    body = await reader.content(number)
    if body is not None:
        return page, body
    folders = saved_folders(crawl.options.module if crawl.options else ()) or [FOLDER]
    files = [reader.directory / one / str(number) for one in folders if reader.directory]
    elsewhere = next(
        (f"it was saved as {saved}" for saved in files if saved.is_file()),
        "--keep says how long bodies are kept, and the module 'save' writes them to files",
    )
    raise CrawlError(f"the body of page {number} has expired; {elsewhere}")


def repeated_page(record: UrlRecord, url: Url | None) -> RepeatedPage | None:
    """Return the page that a URL repeats, whose URL is given; None if it repeats none."""
    if record.duplicate_of is None:
        return None
    return RepeatedPage(
        id=record.duplicate_of,
        url=url,
        similarity=1.0 if record.similarity is None else record.similarity,
        own_similarity=1.0 if record.own_similarity is None else record.own_similarity,
    )
