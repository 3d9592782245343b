"""Opening a crawl in Redis to work on it: the process that has its lead is its frontier.

A coordinator is the frontier as long as it lives. A process that stands by takes the lead when it
is free, and gives it back when a coordinator wants it.
"""

import asyncio
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.away import PATIENCE_S, StoreAwayError
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.stores.opening import OPTIONS_NOTE, RESTS_NOTE, IdleRequest, OpenRequest, Say
from gossamer.stores.ownership import IDENTITY_NOTE, new_identity
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import require
from gossamer.stores.redis.lead import LEAD_S
from gossamer.stores.redis.message_queues import FrontierQueues, alive
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.probe import check
from gossamer.stores.redis.row_keys import REGISTRY
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.results import ReplayedPage, pack_records
from gossamer.stores.rows import Changes, ResultRow
from gossamer.stores.rows_reader import Presence, RowsReader

COORDINATOR, FRONTIER = "crawl", "frontier"
"""The commands that lead a crawl."""
JOINED_NOTE = "joined"
"""The note of who has joined: what a process is called in queues -> the number of its worker."""
PROCESS_NOTE = "process"
"""The note of the process that led the crawl last, by which another one of its machine finds out
whether it lives."""
SERVER_NOTE = "server"
"""The note of which server, from which start to its end, had the crawl when it was opened last."""
CHECK_EVERY_S = 0.1
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def check_name(crawl: str) -> None:
    """Refuse what cannot be the name of a crawl in a shared store."""
    if not _NAME.fullmatch(crawl):
        raise UsageError(
            f"{crawl!r} is not a valid name for a crawl in the store: use letters, digits, '.', "
            "'_' and '-', at most 100"
        )


class RedisCrawl(msgspec.Struct, frozen=True):
    """An opened crawl in Redis, of which this process has the lead."""

    store: EmbeddedStore
    rows: RedisRows
    address: StoreAddress
    where: str
    name: str
    identity: str
    clock: Callable[[], float]
    queues: FrontierQueues
    """Those of the processes that have joined."""
    worker_lock: int | None = None

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[RowsReader]:
        """Open the crawl to read it, as it is now."""
        await self.store.written()
        present = Presence(running=True, closed=False)
        yield RowsReader(self.rows, lambda: present, where=self.where, name=self.name)

    async def new_worker(self) -> int:
        """Return a number for a worker that no other has."""
        return await self.store.new_worker(self.clock())

    async def keep(self) -> None:
        """Keep the lead; a CrawlError if another process has it."""
        await self.store.between_commits(self.rows.renew_lead)

    async def is_wanted(self) -> bool:
        """Tell whether a coordinator wants the lead."""
        return await asyncio.to_thread(self.rows.is_lead_wanted)


@asynccontextmanager
async def open_redis_crawl(request: OpenRequest) -> AsyncIterator[RedisCrawl]:
    """Open a crawl to coordinate it; whoever coordinated it before is waited for, a moment."""
    address = await checked_address(
        request.address, request.name, request.say, allow_insecure=request.allow_insecure
    )
    async with open_rows(address, request.name, request.say, COORDINATOR) as rows:
        await _take_lead(rows, request)
        if request.must_exist and not await asyncio.to_thread(rows.is_there):
            raise CrawlError(
                f"the crawl {request.name} in {address} is not there any more: it was deleted, or "
                "the server has lost its data"
            )
        if request.fresh:
            await _start_over(rows, request)
        await asyncio.to_thread(rows.prepare)
        async with _opened(rows, address, request) as crawl:
            yield crawl


@asynccontextmanager
async def open_rows(
    address: RedisAddress, name: str, say: Say, role: str = ""
) -> AsyncIterator[RedisRows]:
    """Connect to the rows of a crawl, waiting for a server that is away just now."""
    tell = partial(say, "warning")
    make = partial(RedisRows, address, name, tell=tell, role=role)
    give_up_at, is_told = time.monotonic() + PATIENCE_S, False
    while True:
        try:
            rows = await asyncio.to_thread(make)
            break
        except StoreAwayError as error:
            if time.monotonic() >= give_up_at or not is_told:
                raise
            is_told = True
            tell(str(error))
        await asyncio.sleep(CHECK_EVERY_S)
    try:
        yield rows
    finally:
        rows.close()


async def checked_address(
    store: StoreAddress, name: str, say: Say, *, allow_insecure: bool = False
) -> RedisAddress:
    """Return the address of a server that is fit for crawls; a CrawlError says why it is not."""
    check_name(name)
    address = parse_address(store.url)
    for finding in require(await check(address, allow_insecure=allow_insecure), address):
        say("warning", f"The store {address}: {finding}.")
    return address


async def _take_lead(rows: RedisRows, request: OpenRequest | IdleRequest) -> None:
    """Take the lead; one that was killed is waited out, one that stands in gives it back."""
    give_up_at, is_said = time.monotonic() + LEAD_S + 1.0, False
    while not await asyncio.to_thread(rows.try_to_lead):
        holder = await asyncio.to_thread(rows.holder)
        if time.monotonic() >= give_up_at:
            raise (
                rows.taken_by(holder)
                if isinstance(request, IdleRequest)
                else CrawlError(
                    f"another process coordinates the crawl {request.name} ({holder or 'just now'}): "
                    f"more workers join it with gossamer worker --name {request.name}"
                )
            )
        if holder is not None and holder.role == FRONTIER:
            await asyncio.to_thread(rows.want_lead)
        if not is_said:
            is_said = True
            request.say("info", "checking whether another process runs this crawl")
        await asyncio.sleep(CHECK_EVERY_S)


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
        await _put(rows, {IDENTITY_NOTE: identity})  # its results are still its own


async def _put(rows: RedisRows, metadata: dict[str, bytes]) -> None:
    changes = Changes()
    changes.metadata.update(metadata)
    if (finish := rows.write(changes)) is not None:
        await asyncio.to_thread(finish)


@asynccontextmanager
async def _opened(
    rows: RedisRows, address: RedisAddress, request: OpenRequest
) -> AsyncIterator[RedisCrawl]:
    """Load a crawl of which this process has the lead."""
    metadata = await asyncio.to_thread(rows.metadata)
    note = metadata.get(OPTIONS_NOTE)
    if note is not None:
        request.check(note)
    identity = metadata.get(IDENTITY_NOTE) or new_identity().encode()
    await register(address, request.name)
    request.set_clock(await asyncio.to_thread(clock_offset_s, rows))
    lives = _who_lives(metadata)
    now, server = request.clock(), await asyncio.to_thread(rows.server_id)
    is_other = metadata.get(SERVER_NOTE, server) != server
    # Whoever has joined may work on what this server has forgotten.
    rests_until = now
    if is_other and metadata.get("closed") == b"no" and metadata.get(JOINED_NOTE):
        rests_until += request.rules.scheduler.lease_s
    load = partial(EmbeddedStore, rows, request.rules, now, lives=lives, rests_until=rests_until)
    store = await asyncio.to_thread(load)
    try:
        store.put_metadata(IDENTITY_NOTE, identity)
        store.put_metadata(SERVER_NOTE, server)
        store.put_metadata(RESTS_NOTE, repr(rests_until).encode())
        store.put_metadata(PROCESS_NOTE, msgspec.json.encode(ThisProcess.now()))
        yield RedisCrawl(
            store=store,
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
        await store.close()


def clock_offset_s(rows: RedisRows) -> float:
    """Return how far the clock of the server is before the steady one of this machine.

    All processes of a crawl go by it. It is a little too much, by the time of the question: so no
    request is ever noted too early.
    """
    asked_at = time.monotonic()
    return rows.server_time() - asked_at


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


def read_joined(note: bytes | None) -> dict[str, int | None]:
    """Return who has joined, as it is noted."""
    return {} if note is None else msgspec.msgpack.decode(note, type=dict[str, int | None])


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


async def register(address: RedisAddress, name: str) -> None:
    """Have the name of a crawl listed."""
    nodes = Nodes(address)
    async with explained(address), connect(await nodes.find(REGISTRY)) as registrar:
        await registrar.sadd(REGISTRY, name)


# -- beside the coordinator ----------------------------------------------------------------------


@asynccontextmanager
async def stand_by(
    address: RedisAddress, name: str, say: Say, stopped: asyncio.Event
) -> AsyncIterator[RedisRows | None]:
    """Wait until this process has the lead of a crawl that has begun; None: it was stopped."""
    async with open_rows(address, name, say, FRONTIER) as rows:
        yield rows if await _stand_by(rows, stopped) else None


async def _stand_by(rows: RedisRows, stopped: asyncio.Event) -> bool:
    since, say_at = await asyncio.to_thread(rows.server_time), 0.0
    try:
        while not stopped.is_set():
            wanted = await asyncio.to_thread(rows.is_lead_wanted)
            if not wanted and await asyncio.to_thread(rows.try_to_lead):
                return True
            if time.monotonic() >= say_at:
                await asyncio.to_thread(rows.stand_by, since)
                say_at = time.monotonic() + 1.0
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), CHECK_EVERY_S)
        return False
    finally:
        with suppress(CrawlError):
            await asyncio.to_thread(rows.end_stand_by)


@asynccontextmanager
async def open_to_lead(
    rows: RedisRows, address: RedisAddress, request: OpenRequest
) -> AsyncIterator[RedisCrawl]:
    """Load a crawl of which this process, which stood by, has the lead now."""
    await asyncio.to_thread(rows.prepare)
    async with _opened(rows, address, request) as crawl:
        yield crawl


class IdleRedisCrawl(msgspec.Struct, frozen=True):
    """A crawl in Redis that nobody works on: this process has the lead, and does not go on."""

    rows: RedisRows

    async def keep(self) -> None:
        """Keep the lead; a CrawlError if another process has it."""
        await asyncio.to_thread(self.rows.renew_lead)

    async def add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        """Append records to the log of results, and store the note."""
        await asyncio.to_thread(add_replayed, self.rows, replayed, now)


def add_replayed(rows: RedisRows, replayed: ReplayedPage, now: float) -> None:
    """Append records of a page to the log of results, and store the note, in one commit."""
    changes = Changes()
    changes.metadata[replayed.note] = replayed.progress
    if replayed.records:
        page = rows.read_page(replayed.page_id)
        assert page is not None, "pages are never removed"
        packed = pack_records(replayed.records)
        result = ResultRow(rows.last_result() + 1, page.url, None, now, packed, None)
        changes.results.append(result)
    if (finish := rows.write(changes)) is not None:
        finish()


@asynccontextmanager
async def open_idle_redis_crawl(request: IdleRequest) -> AsyncIterator[IdleRedisCrawl]:
    """Keep others from working on a crawl."""
    address = parse_address(request.address.url)
    async with open_rows(address, request.name, request.say, COORDINATOR) as rows:
        await _take_lead(rows, request)
        await asyncio.to_thread(rows.prepare)
        yield IdleRedisCrawl(rows)


async def put_note(store: StoreAddress, crawl: str, name: str, value: bytes) -> None:
    """Store a note that the frontier of a crawl never writes, whoever that is."""
    rows = await asyncio.to_thread(RedisRows, parse_address(store.url), crawl)
    try:
        await asyncio.to_thread(rows.put_note, name, value)
    finally:
        rows.close()
