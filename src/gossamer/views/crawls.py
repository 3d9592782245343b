"""Stored crawls: opened, listed, their URLs listed, and bodies read; they may be running."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from gossamer.config import IN_DIRECTORY, CrawlOptions, StoreAddress
from gossamer.coordinator.resume import read_options
from gossamer.frontier.rules import Budget
from gossamer.model import HostKey, Outcome, Url
from gossamer.model.errors import CrawlError, GossamerError, OlderFormatError
from gossamer.modules.page_directory import FOLDER as SAVED_FOLDER
from gossamer.modules.page_directory import saved_folders
from gossamer.policy.size_limits import most_received
from gossamer.stores.crawl_views import ANY_STATE, CrawlCounts, ReadRequest, State, state_of
from gossamer.stores.directory import APPEND_ONLY_FILES, DATABASE, REDIS_FOLDER, is_crawl
from gossamer.stores.reader import CrawlReader
from gossamer.stores.registry import open_for_reading
from gossamer.stores.rows import OPTIONS_NAME
from gossamer.stores.url_record import PageRecord, UrlRecord, UrlState

CrawlState = Literal["running", "finished", "interrupted", "crashed"]
BudgetName = Literal["max-pages", "max-bytes"]

_OF_THE_RECORD = (
    *("url", "depth", "outcome", "host", "score", "queue", "attempts", "detail"),
    *("found_at", "finished_at"),
)


class StoredCrawl(msgspec.Struct, frozen=True):
    """An open crawl: its reader, and the options that it was last run with."""

    reader: CrawlReader
    options: CrawlOptions | None
    """None if they were not kept with the crawl."""

    def exhausted_by(self, counts: CrawlCounts) -> BudgetName | None:
        """Return which budget is used up."""
        if (options := self.options) is None:
            return None
        budget = Budget(options.max_pages, options.max_bytes, most_received(options.max_body_bytes))
        budget.pages, budget.received = counts.visits, counts.received
        budget.short_at = counts.short_at
        return cast("BudgetName | None", budget.exhausted_by())

    def ended_by(self, counts: CrawlCounts) -> str | None:
        """Return what ended the crawl; None while it runs, or after a crash."""
        if counts.running:
            return None
        if counts.relaxing:
            return "interrupted" if counts.closed else None
        if not counts.unfinished and not counts.seeds_pending:
            return "complete"
        return (self.exhausted_by(counts) or "interrupted") if counts.closed else None

    def state(self, counts: CrawlCounts) -> CrawlState:
        """Return how the crawl is."""
        if counts.running:
            return "running"
        if not counts.closed:
            return "crashed"
        return "interrupted" if self.ended_by(counts) == "interrupted" else "finished"


def fields_of(source: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes by their names; None for those that are not there."""
    return {name: getattr(source, name, None) for name in names}


@asynccontextmanager
async def open_crawl(request: ReadRequest) -> AsyncIterator[StoredCrawl]:
    """Open a crawl to read it, in whichever store it is."""
    async with open_for_reading(request) as reader:
        note = await reader.metadata(OPTIONS_NAME)
        yield StoredCrawl(reader, read_options(note, reader.where))


class CrawlEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl in a list."""

    name: str
    """Its name in a shared store, or its directory."""
    state: CrawlState | Literal["unreadable", "outdated"]
    """Outdated: only an older version of Gossamer can read it."""
    urls: int = 0
    pages: int = 0
    bytes: int = 0
    """How much was downloaded."""
    memory: int | None = None
    """About how many bytes it takes in the memory of a shared store."""
    disk: int | None = None
    """How many bytes its state takes on the disk."""
    last_at: float | None = None
    """When the last attempt ended."""
    trouble: str | None = None
    """Why it cannot be read."""


async def crawls_below(here: Path) -> list[CrawlEntry]:
    """Return the crawls in a directory and right below it."""
    entries = []
    for directory in filter(is_crawl, _directories(here)):
        request = ReadRequest(address=IN_DIRECTORY, directory=directory)
        entry = await _read(request, str(directory))
        files = [
            *directory.glob(f"{DATABASE}*"),
            *directory.glob(f"{REDIS_FOLDER}/{APPEND_ONLY_FILES}"),
        ]
        disk = sum(file.stat().st_size for file in files)
        entries.append(msgspec.structs.replace(entry, disk=disk))
    return entries


def _directories(here: Path) -> list[Path]:
    return [here, *sorted(here.iterdir())]


async def crawls_in(address: StoreAddress) -> list[CrawlEntry]:
    """Return the crawls of a shared store, by name."""
    # Imported when it is needed: the Redis client takes a while to load.
    from gossamer.stores.redis.address import parse_address  # noqa: PLC0415
    from gossamer.stores.redis.crawls import crawl_names, memory_of  # noqa: PLC0415

    entries, server = [], parse_address(address.url)
    for name in await asyncio.to_thread(crawl_names, server):
        entry = await _read(ReadRequest(address=address, name=name), name)
        memory = await asyncio.to_thread(memory_of, server, name)
        entries.append(msgspec.structs.replace(entry, memory=memory))
    return entries


async def _read(request: ReadRequest, name: str) -> CrawlEntry:
    try:
        async with open_crawl(request) as crawl:
            counts = await crawl.reader.counts()
            numbers = fields_of(counts, ("urls", "pages", "bytes", "last_at"))
            return CrawlEntry(name=name, state=crawl.state(counts), **numbers)
    except OlderFormatError as error:
        return CrawlEntry(name=name, state="outdated", trouble=str(error))
    except GossamerError as error:
        return CrawlEntry(name=name, state="unreadable", trouble=str(error))


class RepeatedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page that a URL repeats, and how similar they are."""

    id: int
    """Its number."""
    url: Url | None
    """None while it is in progress."""
    similarity: float
    """The similarity of the whole text, from 0 to 1; 1 if the content is the same."""
    own_similarity: float
    """The similarity of the main content, without navigation, header, footer and sidebar."""


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
    async for url in crawl.reader.urls(states, outcome):
        record = url.record
        yield UrlEntry(
            id=record.page_id,
            bytes=url.bytes,
            duplicate_of=repeated_page(record, url.original),
            state=state_of(record.state),
            url_state=record.state.name.lower(),
            **fields_of(record, _OF_THE_RECORD),
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
    folders = saved_folders(crawl.options.module if crawl.options else ()) or [SAVED_FOLDER]
    files = [reader.directory / name / str(number) for name in folders if reader.directory]
    elsewhere = next(
        (f"it was saved as {file}" for file in files if file.is_file()),
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
