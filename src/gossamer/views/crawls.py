"""Stored crawls, to be read and listed: they may be running, have ended, or have been killed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, cast

import msgspec

from gossamer.config import IN_DIRECTORY, StoreAddress
from gossamer.coordinator.plan import StoredOptions, read_options
from gossamer.model.errors import GossamerError, OlderFormatError
from gossamer.stores.directory import APPEND_ONLY_FILES, DATABASE, REDIS_FOLDER, is_crawl
from gossamer.stores.reader import CrawlReader
from gossamer.stores.reading import CrawlCounts, ReadRequest
from gossamer.stores.registry import open_for_reading
from gossamer.stores.rows import OPTIONS_NAME

CrawlState = Literal["running", "finished", "interrupted", "crashed"]
BudgetName = Literal["max-pages", "max-bytes"]


class StoredCrawl(msgspec.Struct, frozen=True):
    """An open crawl: its reader, and the options that it was last run with."""

    reader: CrawlReader
    options: StoredOptions | None
    """None if they were not kept with the crawl."""

    def exhausted_by(self, counts: CrawlCounts) -> BudgetName | None:
        """Return which budget is used up."""
        budget = self.options and self.options.budget(
            counts.visits, counts.received, counts.short_at
        )
        return cast("BudgetName | None", budget.exhausted_by()) if budget else None

    def ended_by(self, counts: CrawlCounts) -> str | None:
        """Return what ended the crawl; None while it runs, or after a crash."""
        if counts.running:
            return None
        if counts.relaxing:
            return "interrupted" if counts.closed else None
        if not counts.unfinished and not counts.reading:
            return "complete"
        return (self.exhausted_by(counts) or "interrupted") if counts.closed else None

    def state(self, counts: CrawlCounts) -> CrawlState:
        """Return how the crawl is."""
        if counts.running:
            return "running"
        if not counts.closed:
            return "crashed"
        return "interrupted" if self.ended_by(counts) == "interrupted" else "finished"


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
    for directory in _crawl_directories(here):
        request = ReadRequest(address=IN_DIRECTORY, directory=directory)
        entry = await _read(request, str(directory))
        entries.append(msgspec.structs.replace(entry, disk=_disk_of(directory)))
    return entries


def _crawl_directories(here: Path) -> list[Path]:
    return [one for one in (here, *sorted(here.iterdir())) if is_crawl(one)]


def _disk_of(directory: Path) -> int:
    files = [
        *directory.glob(f"{DATABASE}*"),
        *directory.glob(f"{REDIS_FOLDER}/{APPEND_ONLY_FILES}"),
    ]
    return sum(file.stat().st_size for file in files)


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
            return CrawlEntry(
                name=name,
                state=crawl.state(counts),
                urls=counts.urls,
                pages=counts.pages,
                bytes=counts.bytes,
                last_at=counts.last_at,
            )
    except OlderFormatError as error:
        return CrawlEntry(name=name, state="outdated", trouble=str(error))
    except GossamerError as error:
        return CrawlEntry(name=name, state="unreadable", trouble=str(error))
