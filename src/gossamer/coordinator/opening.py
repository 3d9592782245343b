"""Opening a crawl to be the one that has it: to work on it, or to keep others from doing so."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.stores.own_redis import is_own_redis
from gossamer.stores.ownership import (
    IDENTITY_NOTE,
    CrawlOwner,
    is_starting_over,
    new_identity,
    owner_of,
)
from gossamer.stores.results import Record, pack_records
from gossamer.stores.rows import Changes, ResultRow, Rows
from gossamer.stores.rows_reader import Presence, RowsReader, explained
from gossamer.stores.sqlite import SqliteRows
from gossamer.stores.sqlite.file import check_own, read_saved_note

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


class IdleCrawl:
    """A crawl that nobody works on, nor can while it is open."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._turn = asyncio.Lock()

    async def keep(self) -> None:
        """Stay the one that has it, to be called every second; a CrawlError if another has it."""
        async with self._turn:
            await asyncio.to_thread(self.rows.renew_lead)

    async def add_replayed(
        self, page_id: int, records: Sequence[Record], metadata: dict[str, bytes], now: float
    ) -> None:
        """Append records of a page to the log of results, and store metadata, in one atomic step.

        The result is one of the page's URL, without the page, which is not kept now.
        """
        rows, results = self.rows, []
        async with self._turn:
            try:
                if records:
                    page = rows.read_page(page_id)
                    assert page is not None, "pages are never removed"
                    number, packed = rows.last_result() + 1, pack_records(records)
                    results = [ResultRow(number, page.url, None, now, packed, None)]
                finish = begin_writing(rows, metadata=metadata, results=results)
                await asyncio.to_thread(finish)
            except rows.errors as error:
                raise CrawlError(rows.complaint(error)) from error


def begin_writing(
    rows: Rows, *, metadata: dict[str, bytes], results: Sequence[ResultRow] = ()
) -> Callable[[], None]:
    """Write to the rows of a crawl whose frontier is not there; return what makes it durable."""
    changes = Changes()
    changes.metadata.update(metadata)
    changes.results += results
    return rows.write(changes) or (lambda: None)


def open_for_work(request: OpenRequest) -> AbstractAsyncContextManager[LedCrawl]:
    """Open a crawl, new or as it was left, and be the one that coordinates it."""
    match request.address.scheme:
        case "memory" | "sqlite" as scheme:
            from gossamer.coordinator.opening import open_embedded_crawl  # noqa: PLC0415

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
            from gossamer.coordinator.opening import open_idle_sqlite_crawl  # noqa: PLC0415

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


@asynccontextmanager
async def open_embedded_crawl(request: OpenRequest, *, in_memory: bool) -> AsyncIterator[LedCrawl]:
    """Open a crawl in a file, the given one or that of its directory, or in memory.

    The lock of its directory excludes other processes. The directory of a crawl in memory, if it
    has one, is for results only.
    """
    with CrawlDirectory(request.directory) as directory:
        path = None if in_memory else request.address.path or directory.database
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
            notes = rows.metadata()
            if (note := notes.get(OPTIONS_NOTE)) is not None:
                request.check(note)
            owner = _noted(owner, rows, notes.get(IDENTITY_NOTE))
            directory.mark(owner)
        except BaseException:
            rows.close()
            raise
        frontier = Frontier(rows, request.rules, request.clock())
        try:
            yield LedCrawl(
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


@asynccontextmanager
async def open_idle_sqlite_crawl(request: IdleRequest) -> AsyncIterator[IdleCrawl]:
    """Keep others from working on a crawl in a file."""
    with CrawlDirectory(request.directory) as directory:
        rows = SqliteRows(request.address.path or directory.database)
        try:
            yield IdleCrawl(rows)
        finally:
            rows.close()


def _identity(path: Path | None, directory: CrawlDirectory) -> str:
    """Return that of the crawl in the file, which it keeps when it starts over, or a new one.

    A loss of power may take it from the file of a crawl that has just begun: then its directory,
    which was marked afterwards, still has it.
    """
    if path is None:
        return new_identity()
    check_own(path)
    if (known := read_saved_note(path, IDENTITY_NOTE)) is not None:
        return known.decode()
    has_file = path == directory.database and path.exists() and path.stat().st_size > 0
    owner = owner_of(directory.path) if has_file or is_starting_over(directory.path) else None
    return new_identity() if owner is None else owner.identity


def _noted(owner: CrawlOwner, rows: SqliteRows, known: bytes | None) -> CrawlOwner:
    """Return the owner as the store has it from now on: durable, before anything is marked."""
    if known is not None:
        return msgspec.structs.replace(owner, identity=known.decode())
    begin_writing(rows, metadata={IDENTITY_NOTE: owner.identity.encode()})()
    return owner
