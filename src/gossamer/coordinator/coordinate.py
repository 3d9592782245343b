"""Opening a crawl in Redis to work on it: the process that has its lead is its frontier.

A coordinator is the frontier as long as it lives. A process that stands by takes the lead when it
is free, and gives it back when a coordinator wants it.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from gossamer.config import StoreAddress
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.directory import CrawlDirectory, is_own_redis
from gossamer.stores.files import (
    IDENTITY_NOTE,
    CrawlOwner,
    is_starting_over,
    new_identity,
    owner_of,
)
from gossamer.stores.reader import Presence, RowsReader, explained
from gossamer.stores.redis import own_server
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.connect import (
    CHECK_EVERY_S,
    JOINED_NOTE,
    checked_address,
    clock_offset_s,
    open_rows,
    read_joined,
)
from gossamer.stores.redis.crawls import register_name
from gossamer.stores.redis.lead import LEAD_S, LeadHolder
from gossamer.stores.redis.message_queues import FrontierQueues, alive
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import OPTIONS_NOTE, RESTS_NOTE, Changes, ResultRow, Rows
from gossamer.stores.sqlite.file import check_own, read_saved_note
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import Record, pack_records

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


class OpenedCrawl(msgspec.Struct, frozen=True, kw_only=True):
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


class LockedCrawl:
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


def open_to_crawl(request: OpenRequest) -> AbstractAsyncContextManager[OpenedCrawl]:
    """Open a crawl, new or as it was left, and be the one that coordinates it."""
    match request.address.scheme:
        case "memory" | "sqlite" as scheme:
            return open_embedded_crawl(request, in_memory=scheme == "memory")
        case "redis":
            return open_redis_crawl(request)
        case "own-redis":
            return open_own_redis_crawl(request)
    raise AssertionError(request.address.scheme)


def open_to_replay(request: IdleRequest) -> AbstractAsyncContextManager[LockedCrawl]:
    """Open a crawl that nobody works on, and keep it so; a CrawlError if somebody does."""
    match request.address.scheme:
        case "sqlite":
            return open_idle_sqlite_crawl(request)
        case "redis":
            return open_idle_redis_crawl(request)
        case "own-redis":
            return open_idle_own_redis_crawl(request)
    raise AssertionError("a crawl in memory is not there without who works on it")


@asynccontextmanager
async def open_embedded_crawl(
    request: OpenRequest, *, in_memory: bool
) -> AsyncIterator[OpenedCrawl]:
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


@asynccontextmanager
async def open_idle_sqlite_crawl(request: IdleRequest) -> AsyncIterator[LockedCrawl]:
    """Keep others from working on a crawl in a file."""
    with CrawlDirectory(request.directory) as directory:
        rows = SqliteRows(request.address.path or directory.database)
        try:
            yield LockedCrawl(rows)
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


COORDINATOR_ROLE, FRONTIER_ROLE = "crawl", "frontier"
"""The commands that lead a crawl."""
PROCESS_NOTE = "process"
"""The note of the process that led the crawl last, by which another one of its machine finds out
whether it lives."""
SERVER_NOTE = "server"
"""The note of which server, from which start to its end, had the crawl when it was opened last."""


@asynccontextmanager
async def open_redis_crawl(request: OpenRequest) -> AsyncIterator[OpenedCrawl]:
    """Open a crawl to coordinate it; whoever coordinated it before is waited for, a moment."""
    address = await checked_address(
        request.address, request.name, request.say, allow_insecure=request.allow_insecure
    )
    async with open_rows(address, request.name, request.say, COORDINATOR_ROLE) as rows:
        await _take_lead(rows, request)
        if request.must_exist and not await asyncio.to_thread(rows.is_there):
            raise CrawlError(
                f"the crawl {request.name} in {address} is not there any more: it was deleted, or "
                "the server has lost its data"
            )
        if request.fresh:
            await _start_over(rows, request)
        async with open_to_lead(rows, address, request) as crawl:
            yield crawl


@asynccontextmanager
async def open_own_redis_crawl(request: OpenRequest) -> AsyncIterator[OpenedCrawl]:
    """Start a server and open the crawl there; it stops when the crawl is closed."""
    async with own_server.owned(request.directory, request.name, fresh=request.fresh) as owned:
        directory, address = owned
        there = msgspec.structs.replace(request, address=address, fresh=False)
        async with open_redis_crawl(there) as crawl:
            where = str(directory.path)
            yield msgspec.structs.replace(crawl, where=where, worker_lock=directory.worker_lock)
            is_over = await crawl.frontier.ended_by() is not None
        if is_over:
            await own_server.wait_for_others(directory.path)


@asynccontextmanager
async def open_idle_redis_crawl(request: IdleRequest) -> AsyncIterator[LockedCrawl]:
    """Keep others from working on a crawl."""
    address = parse_address(request.address.url)
    async with open_rows(address, request.name, request.say, COORDINATOR_ROLE) as rows:
        await _take_lead(rows, request)
        await asyncio.to_thread(rows.prepare)
        yield LockedCrawl(rows)


@asynccontextmanager
async def open_idle_own_redis_crawl(request: IdleRequest) -> AsyncIterator[LockedCrawl]:
    """Start a server, and keep others from coordinating the crawl there."""
    async with own_server.owned(request.directory, request.name) as (_, address):
        there = msgspec.structs.replace(request, address=address)
        async with open_idle_redis_crawl(there) as crawl:
            yield crawl


@asynccontextmanager
async def open_to_lead(
    rows: RedisRows, address: RedisAddress, request: OpenRequest
) -> AsyncIterator[OpenedCrawl]:
    """Load a crawl of which this process has the lead now."""
    await asyncio.to_thread(rows.prepare)
    metadata = await asyncio.to_thread(rows.metadata)
    note = metadata.get(OPTIONS_NOTE)
    if note is not None:
        request.check(note)
    identity = metadata.get(IDENTITY_NOTE) or new_identity().encode()
    await asyncio.to_thread(register_name, address, request.name)
    request.set_clock(await asyncio.to_thread(clock_offset_s, rows, leads=True))
    lives = _who_lives(metadata)
    now, server = request.clock(), await asyncio.to_thread(rows.server_id)
    is_other = metadata.get(SERVER_NOTE, server) != server
    # Whoever has joined may work on what this server has forgotten.
    rests_until = now
    if is_other and metadata.get("closed") == b"no" and metadata.get(JOINED_NOTE):
        rests_until += request.rules.scheduler.lease_s
    load = partial(Frontier, rows, request.rules, now, lives=lives, rests_until=rests_until)
    frontier = await asyncio.to_thread(load)
    try:
        frontier.put_metadata(IDENTITY_NOTE, identity)
        frontier.put_metadata(SERVER_NOTE, server)
        frontier.put_metadata(RESTS_NOTE, repr(rests_until).encode())
        frontier.put_metadata(PROCESS_NOTE, msgspec.json.encode(ThisProcess.now()))
        yield OpenedCrawl(
            frontier=frontier,
            rows=rows,
            address=request.address,
            where=f"the crawl {request.name} in {address}",
            name=request.name,
            identity=identity.decode(),
            clock=request.clock,
            queues=FrontierQueues(address, rows.keys),
        )
    except asyncio.CancelledError:
        rows.give_up()  # whoever quits does not wait for a server that is away
        raise
    finally:
        await frontier.close()


async def _take_lead(rows: RedisRows, request: OpenRequest | IdleRequest) -> None:
    """Take the lead; one that was killed is waited out, one that stands in gives it back."""
    give_up_at, is_said = time.monotonic() + LEAD_S + 1.0, False
    while not await asyncio.to_thread(rows.try_to_lead):
        holder = await asyncio.to_thread(rows.holder)
        if time.monotonic() >= give_up_at:
            raise _taken_by(holder, rows, request)
        if holder is not None and holder.role == FRONTIER_ROLE:
            await asyncio.to_thread(rows.want_lead)
        if not is_said:
            is_said = True
            request.say("info", "checking whether another process runs this crawl")
        await asyncio.sleep(CHECK_EVERY_S)


def _taken_by(
    holder: LeadHolder | None, rows: RedisRows, request: OpenRequest | IdleRequest
) -> CrawlError:
    if isinstance(request, IdleRequest):
        return rows.taken_by(holder)
    return CrawlError(
        f"another process coordinates the crawl {request.name} ({holder or 'just now'}): more "
        f"workers join it with gossamer worker --name {request.name}"
    )


async def _start_over(rows: RedisRows, request: OpenRequest) -> None:
    """Delete what is there, unless processes that have joined are at work; keep whose it is."""
    metadata = await asyncio.to_thread(rows.metadata)
    names = [*read_joined(metadata.get(JOINED_NOTE))]
    if any(await asyncio.to_thread(rows.are_there, [alive(name) for name in names])):
        raise CrawlError(
            f"workers of the crawl {request.name} in {request.address} are still at work: stop "
            "them, and start over then"
        )
    await asyncio.to_thread(rows.prepare, fresh=True)
    if (identity := metadata.get(IDENTITY_NOTE)) is not None:
        # Its results are still its own.
        finish = begin_writing(rows, metadata={IDENTITY_NOTE: identity})
        await asyncio.to_thread(finish)


def _who_lives(metadata: dict[str, bytes]) -> Callable[[int], bool] | None:
    """Return what tells which workers of the process that led the crawl may live; None: none.

    Those that have joined from elsewhere may. Those of its own command end when it does, which is
    known if it was one of this machine.
    """
    joined = {*read_joined(metadata.get(JOINED_NOTE)).values()}
    note = metadata.get(PROCESS_NOTE)
    if metadata.get("closed") != b"no" or note is None:
        return joined.__contains__ if joined else None
    if not msgspec.json.decode(note, type=ThisProcess).has_ended():
        return lambda _: True
    return joined.__contains__ if joined else None


class ThisProcess(msgspec.Struct, frozen=True):
    """A process as others of its machine can recognise it."""

    host: str
    boot: str
    """The start of the machine, and the space of process numbers: empty where it is not known."""
    pid: int
    started: str

    @classmethod
    def now(cls) -> "ThisProcess":
        """Return this process."""
        return cls(socket.gethostname(), _boot(), os.getpid(), _start_of(os.getpid()))

    def has_ended(self) -> bool:
        """Tell whether it surely has; False where that cannot be known."""
        if not self.boot or (self.host, self.boot) != (socket.gethostname(), _boot()):
            return False
        return self.pid == os.getpid() or _start_of(self.pid) != self.started


def _boot() -> str:
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 -- it is no path
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() + space
    return ""


def _start_of(pid: int) -> str:
    """Return when a process was started, as the system counts; empty: there is none."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return status.rpartition(")")[2].split()[19]
    return ""
