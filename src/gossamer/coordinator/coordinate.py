"""Opening a crawl to work on it, so that nobody else does.

`open_to_crawl` loads its frontier too; `open_to_replay` has only its rows. Of a crawl in a file
whoever locks the directory is alone; of one in Redis it is the process that leads (`lead_redis`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gossamer.config import StoreAddress
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.crawl_views import Presence
from gossamer.stores.directory import CrawlDirectory, is_own_redis
from gossamer.stores.files import (
    IDENTITY_NAME,
    CrawlOwner,
    is_starting_over,
    new_identity,
    owner_of,
)
from gossamer.stores.reader import CrawlReader, explained
from gossamer.stores.rows import OPTIONS_NAME, Changes, ResultRow, Rows
from gossamer.stores.sqlite.file import check_own, read_saved_metadata
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import Record, pack_records

if TYPE_CHECKING:
    from gossamer.stores.redis.message_queues import FrontierQueues


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which crawl to open, and how."""

    address: StoreAddress
    name: str
    """What the crawl is called in a shared store."""
    directory: Path | None
    """Where its state and results go; None: nothing is written to disk."""
    say: Callable[[Literal["info", "warning"], str], None] = lambda _level, _message: None
    fresh: bool = False
    """Delete what an earlier crawl has left."""
    must_exist: bool = False
    """Refuse to begin a new one: it was there a moment ago."""
    allow_insecure: bool = False
    """Accept a server elsewhere without password or TLS."""
    clock: Callable[[], float] = time.time
    set_clock: Callable[[float], None] = lambda _: None
    """Is told how far the clock of the crawl is before `time.monotonic`, where a server says so."""
    check: Callable[[bytes], None] = lambda _: None
    """Is shown the options of a crawl that has begun, before anything is changed; may refuse."""


class OpenedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """An opened crawl: this process, and no other, is its frontier."""

    frontier: Frontier
    rows: Rows
    address: StoreAddress
    """Where workers find its rows."""
    where: str
    """What people are told about where the crawl is."""
    identity: str
    """What tells the crawl from all others (`stores.files`)."""
    clock: Callable[[], float]
    name: str | None = None
    """What it is called in a shared store."""
    queues: "FrontierQueues | None" = None
    """The queues of processes that have joined it; None: none can."""
    worker_lock: int | None = None
    """A descriptor that workers on this machine keep: while one has it, nobody else begins."""

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[CrawlReader]:
        """Open the crawl to read it, as it is now."""
        await self.frontier.written()
        presence = Presence(running=True, closed=False)
        with explained(self.rows, self.where):
            yield CrawlReader(self.rows, lambda: presence, where=self.where, name=self.name)

    async def renew_lead(self) -> None:
        """Stay the one that has it; a CrawlError if another process has taken over."""
        await self.frontier.between_commits(self.rows.renew_lead)


@asynccontextmanager
async def open_to_crawl(request: OpenRequest, rules: FrontierRules) -> AsyncIterator[OpenedCrawl]:
    """Open a crawl, new or as it was left, and be its frontier."""
    opening = _open_embedded
    if request.address.is_shared:
        # Whoever crawls into a file does not load the client of a server.
        from gossamer.coordinator import lead_redis  # noqa: PLC0415

        opening = lead_redis.open_to_crawl
    async with opening(request, rules) as crawl:
        yield crawl


class LockedRows:
    """The rows of a crawl that nobody works on, nor can while they are open."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._lock = asyncio.Lock()

    async def renew_lead(self) -> None:
        """Stay the one that has it, to be called every second; a CrawlError if another has it."""
        async with self._lock:
            await asyncio.to_thread(self.rows.renew_lead)

    async def add_replayed(
        self, page_id: int, records: Sequence[Record], metadata: dict[str, bytes], now: float
    ) -> None:
        """Append records of a page to the log of results, and store metadata, in one atomic step.

        The result is one of the page's URL, without the page, which is not kept now.
        """
        rows, results = self.rows, []
        async with self._lock:
            try:
                if records:
                    page = rows.read_page(page_id)
                    assert page is not None, "pages are never removed"
                    number, packed = rows.last_result() + 1, pack_records(records)
                    results = [ResultRow(number, page.url, None, now, packed, None)]
                await asyncio.to_thread(begin_writing(rows, metadata, results))
            except rows.errors as error:
                raise CrawlError(rows.describe_error(error)) from error


@asynccontextmanager
async def open_to_replay(request: OpenRequest) -> AsyncIterator[LockedRows]:
    """Open a crawl that nobody works on, and keep it so; a CrawlError if somebody does."""
    match request.address.scheme:
        case "sqlite":
            with CrawlDirectory(request.directory) as directory:
                rows = SqliteRows(request.address.path or directory.database)
                try:
                    yield LockedRows(rows)
                finally:
                    rows.close()
        case "redis" | "own-redis":
            from gossamer.coordinator import lead_redis  # noqa: PLC0415 -- as below

            async with lead_redis.open_to_replay(request) as redis_rows:
                yield LockedRows(redis_rows)
        case _:
            raise AssertionError("a crawl in memory is not there without who works on it")


def begin_writing(
    rows: Rows, metadata: dict[str, bytes], results: Sequence[ResultRow] = ()
) -> Callable[[], None]:
    """Write to the rows of a crawl whose frontier is not there; return what makes it durable."""
    changes = Changes()
    changes.metadata.update(metadata)
    changes.results += results
    return rows.write(changes) or (lambda: None)


# -- in a file, or in memory ---------------------------------------------------------------------


@asynccontextmanager
async def _open_embedded(request: OpenRequest, rules: FrontierRules) -> AsyncIterator[OpenedCrawl]:
    """Open a crawl in a file, the given one or that of its directory, or in memory.

    The lock of its directory excludes other processes. The directory of a crawl in memory, if it
    has one, is for results only.
    """
    with CrawlDirectory(request.directory) as directory:
        is_file = request.address.scheme == "sqlite"
        path = (request.address.path or directory.database) if is_file else None
        if path and is_own_redis(directory.path) and request.directory is not None:
            raise UsageError(
                f"{directory.path} holds a crawl in a Redis of its own: add --store redis:, or "
                "name another directory with --dir"
            )
        owner = CrawlOwner(_identity(path, directory), request.name)
        if path is None or request.fresh or not path.exists():
            directory.check_owner(owner)  # before a file is made, or removed
        if path and request.fresh:
            directory.start_over(path, owner)
        rows = SqliteRows(path)
        try:
            metadata = rows.metadata()
            if (options := metadata.get(OPTIONS_NAME)) is not None:
                request.check(options)
            if (identity := metadata.get(IDENTITY_NAME)) is not None:
                owner = msgspec.structs.replace(owner, identity=identity.decode())
            else:  # durable before anything is marked
                begin_writing(rows, {IDENTITY_NAME: owner.identity.encode()})()
            directory.mark(owner)
        except BaseException:
            rows.close()
            raise
        frontier = Frontier(rows, rules, request.clock())
        try:
            yield OpenedCrawl(
                frontier=frontier,
                rows=rows,
                address=request.address,
                where=str(directory.path),
                identity=owner.identity,
                clock=request.clock,
                worker_lock=directory.worker_lock,
            )
        finally:
            await frontier.close()


def _identity(path: Path | None, directory: CrawlDirectory) -> str:
    """Return that of the crawl in the file, which it keeps when it starts over, or a new one.

    A loss of power may take it from the file of a crawl that has just begun: then its directory,
    which was marked afterwards, still has it.
    """
    if path is None:
        return new_identity()
    check_own(path)
    if (known := read_saved_metadata(path, IDENTITY_NAME)) is not None:
        return known.decode()
    has_file = path == directory.database and path.exists() and path.stat().st_size > 0
    owner = owner_of(directory.path) if has_file or is_starting_over(directory.path) else None
    return new_identity() if owner is None else owner.identity
