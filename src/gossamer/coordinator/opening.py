"""Opening a crawl to be the one that has it: to work on it, or to keep others from doing so."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.stores.results import ReplayedPage, pack_records
from gossamer.stores.rows import Changes, ResultRow, Rows
from gossamer.stores.rows_reader import Presence, RowsReader, explained

if TYPE_CHECKING:
    from gossamer.stores.redis.message_queues import FrontierQueues

Say = Callable[[Literal["info", "warning"], str], None]


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which crawl to open, and how."""

    address: StoreAddress
    name: str
    """What the crawl is called in a shared store."""
    directory: Path | None
    """Where its state and results go; None: nothing is written to disk."""
    rules: FrontierRules
    check: Callable[[bytes], None]
    """Is shown the options of a crawl that has begun, before anything is changed; may refuse."""
    clock: Callable[[], float]
    set_clock: Callable[[float], None] = lambda _: None
    """Is told how far the clock of the crawl is before `time.monotonic`, where a server says so."""
    fresh: bool = False
    """Delete what an earlier crawl has left."""
    must_exist: bool = False
    """Refuse to begin a new one: it was there a moment ago."""
    allow_insecure: bool = False
    """Accept a server elsewhere without password or TLS."""
    say: Say = lambda _level, _words: None


class LedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """An opened crawl: this process, and no other, is its frontier."""

    frontier: Frontier
    rows: Rows
    address: StoreAddress
    """Where workers find its rows."""
    where: str
    """What people are told about where the crawl is."""
    identity: str
    """What tells the crawl from all others (`stores.ownership`)."""
    clock: Callable[[], float]
    name: str | None = None
    """What it is called in a shared store."""
    queues: "FrontierQueues | None" = None
    """The queues of processes that have joined it; None: none can."""
    worker_lock: int | None = None
    """A descriptor that workers on this machine keep: while one has it, nobody else begins."""

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[RowsReader]:
        """Open the crawl to read it, as it is now."""
        await self.frontier.written()
        presence = Presence(running=True, closed=False)
        with explained(self.rows, self.where):
            yield RowsReader(self.rows, lambda: presence, where=self.where, name=self.name)

    async def new_worker(self) -> int:
        """Return a number for a worker that no other has."""
        return await self.frontier.new_worker(self.clock())

    async def keep(self) -> None:
        """Stay the one that has it; a CrawlError if another process has taken over."""
        await self.frontier.between_commits(self.rows.renew_lead)


class IdleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which crawl to keep from being worked on."""

    address: StoreAddress
    name: str
    """What the crawl is called in a shared store."""
    directory: Path
    """Where its state, if it is on the local disk, and its results are."""
    say: Say = lambda _level, _words: None


class IdleCrawl(msgspec.Struct, frozen=True):
    """A crawl that nobody works on, nor can while it is open."""

    rows: Rows

    async def keep(self) -> None:
        """Stay the one that has it, to be called every second; a CrawlError if another has it."""
        await asyncio.to_thread(self.rows.renew_lead)

    async def add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        """Append records to the log of results, and store the note, in one atomic step.

        The result is one of the page's URL, without the page, which is not kept now.
        """
        await asyncio.to_thread(self._add_replayed, replayed, now)

    def _add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        rows, results = self.rows, []
        try:
            if replayed.records:
                page = rows.read_page(replayed.page_id)
                assert page is not None, "pages are never removed"
                packed = pack_records(replayed.records)
                number = rows.last_result() + 1
                results = [ResultRow(number, page.url, None, now, packed, None)]
            write(rows, metadata={replayed.note: replayed.progress}, results=results)
        except rows.errors as error:
            raise CrawlError(rows.complaint(error)) from error


def write(rows: Rows, *, metadata: dict[str, bytes], results: Sequence[ResultRow] = ()) -> None:
    """Write something to the rows of a crawl whose frontier is not there, and make it durable."""
    changes = Changes()
    changes.metadata.update(metadata)
    changes.results += results
    if (finish := rows.write(changes)) is not None:
        finish()


def open_for_work(request: OpenRequest) -> AbstractAsyncContextManager[LedCrawl]:
    """Open a crawl, new or as it was left, and be the one that coordinates it."""
    match request.address.scheme:
        case "memory" | "sqlite" as scheme:
            from gossamer.coordinator.open_sqlite import open_embedded_crawl  # noqa: PLC0415

            return open_embedded_crawl(request, in_memory=scheme == "memory")
        case "redis":
            from gossamer.coordinator.open_redis import open_redis_crawl  # noqa: PLC0415

            return open_redis_crawl(request)
        case "own-redis":
            from gossamer.coordinator.open_redis import open_own_redis_crawl  # noqa: PLC0415

            return open_own_redis_crawl(request)
    raise AssertionError(request.address.scheme)


def open_idle(request: IdleRequest) -> AbstractAsyncContextManager[IdleCrawl]:
    """Open a crawl that nobody works on, and keep it so; a CrawlError if somebody does."""
    match request.address.scheme:
        case "sqlite":
            from gossamer.coordinator.open_sqlite import open_idle_sqlite_crawl  # noqa: PLC0415

            return open_idle_sqlite_crawl(request)
        case "redis":
            from gossamer.coordinator.open_redis import open_idle_redis_crawl  # noqa: PLC0415

            return open_idle_redis_crawl(request)
        case "own-redis":
            from gossamer.coordinator.open_redis import (  # noqa: PLC0415
                open_idle_own_redis_crawl,
            )

            return open_idle_own_redis_crawl(request)
    raise AssertionError("a crawl in memory is not there without who works on it")
