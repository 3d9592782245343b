"""The lead of a crawl in Redis: whoever has it is the frontier.

A coordinator has it as long as it lives. A process that stands by takes it when it is free, and
gives it back when a coordinator wants it.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from gossamer.config import CrawlOptions, StoreAddress
from gossamer.coordinator.coordinate import OpenedCrawl, OpenRequest, begin_writing
from gossamer.coordinator.engine import Engine, make_engine
from gossamer.coordinator.plan import Plan, frontier_rules
from gossamer.coordinator.processes.join import found_crawl
from gossamer.coordinator.processes.worker_channel import steady_clock
from gossamer.coordinator.processes.worker_pool import Listener
from gossamer.coordinator.scoring import load_scorer
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model.errors import CrawlError
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.files import IDENTITY_NAME, new_identity
from gossamer.stores.redis import own_server
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.crawls import register_name
from gossamer.stores.redis.lead import LEAD_S, BodiesLostError, LeadHolder, LeadLostError
from gossamer.stores.redis.message_queues import FrontierQueues, heartbeat
from gossamer.stores.redis.rows import (
    CHECK_EVERY_S,
    JOINED_NAME,
    RedisRows,
    checked_address,
    clock_offset_s,
    open_rows,
    read_joined,
    stand_by,
)
from gossamer.stores.rows import OPTIONS_NAME, PAUSED_UNTIL_NAME

COORDINATOR_ROLE, FRONTIER_ROLE = "crawl", "frontier"
"""The commands that lead a crawl."""
PROCESS_NOTE = "process"
"""The note of the process that led the crawl last, by which another one of its machine finds out
whether it lives."""
SERVER_NOTE = "server"
"""The note of which server, from which start to its end, had the crawl when it was opened last."""
INTERRUPTED = "interrupted"


@asynccontextmanager
async def open_to_crawl(request: OpenRequest, rules: FrontierRules) -> AsyncIterator[OpenedCrawl]:
    """Open a crawl to coordinate it; its own server, if it has one, stops when it is closed."""
    if request.address.scheme == "own-redis":
        async with own_server.owned(request.directory, request.name, fresh=request.fresh) as owned:
            directory, store = owned
            there = msgspec.structs.replace(request, address=store, fresh=False)
            async with open_to_crawl(there, rules) as crawl:
                where, lock = str(directory.path), directory.worker_lock
                yield msgspec.structs.replace(crawl, where=where, worker_lock=lock)
                is_over = await crawl.frontier.ended_by() is not None
            if is_over:
                await own_server.wait_for_others(directory.path)
        return
    address = await checked_address(
        request.address, request.name, request.say, allow_insecure=request.allow_insecure
    )

    def taken_by(holder: LeadHolder | None) -> CrawlError:
        return CrawlError(
            f"another process coordinates the crawl {request.name} ({holder or 'just now'}): more "
            f"workers join it with gossamer worker --name {request.name}"
        )

    async with _led_rows(address, request, taken_by) as rows:
        if request.must_exist and not await asyncio.to_thread(rows.exists):
            raise CrawlError(
                f"the crawl {request.name} in {address} is not there any more: it was deleted, or "
                "the server has lost its data"
            )
        if request.fresh:
            await _start_over(rows, request)
        async with load_frontier(rows, address, request, rules) as crawl:
            yield crawl


@asynccontextmanager
async def open_to_replay(request: OpenRequest) -> AsyncIterator[RedisRows]:
    """Open the rows of a crawl that nobody coordinates, and keep it so."""
    if request.address.scheme == "own-redis":
        async with (
            own_server.owned(request.directory, request.name) as (_, store),
            open_to_replay(msgspec.structs.replace(request, address=store)) as rows,
        ):
            yield rows
        return
    async with _led_rows(parse_address(request.address.url), request) as rows:
        await asyncio.to_thread(rows.prepare)
        yield rows


@asynccontextmanager
async def _led_rows(
    address: RedisAddress,
    request: OpenRequest,
    taken_by: Callable[[LeadHolder | None], CrawlError] | None = None,
) -> AsyncIterator[RedisRows]:
    """Take the lead; one that was killed is waited out, one that stands by gives it back."""
    async with open_rows(address, request.name, request.say, COORDINATOR_ROLE) as rows:
        give_up_at, has_said = time.monotonic() + LEAD_S + 1.0, False
        while not await asyncio.to_thread(rows.lead.try_to_take):
            holder = await asyncio.to_thread(rows.holder)
            if time.monotonic() >= give_up_at:
                raise (taken_by or rows.lead.taken_by)(holder)
            if holder is not None and holder.role == FRONTIER_ROLE:
                await asyncio.to_thread(rows.want_lead)
            if not has_said:
                has_said = True
                request.say("info", "checking whether another process runs this crawl")
            await asyncio.sleep(CHECK_EVERY_S)
        yield rows


@asynccontextmanager
async def load_frontier(
    rows: RedisRows, address: RedisAddress, request: OpenRequest, rules: FrontierRules
) -> AsyncIterator[OpenedCrawl]:
    """Load a crawl of which this process has the lead now."""
    await asyncio.to_thread(rows.prepare)
    metadata = await asyncio.to_thread(rows.metadata)
    if (options := metadata.get(OPTIONS_NAME)) is not None:
        request.check(options)
    identity = metadata.get(IDENTITY_NAME) or new_identity().encode()
    await asyncio.to_thread(register_name, address, request.name)
    request.set_clock(await asyncio.to_thread(clock_offset_s, rows, leads=True))
    lives = _living_workers(metadata)
    now, server = request.clock(), await asyncio.to_thread(rows.server_id)
    is_other = metadata.get(SERVER_NOTE, server) != server
    # Whoever has joined may work on what this server has forgotten.
    rests_until = now
    if is_other and metadata.get("closed") == b"no" and metadata.get(JOINED_NAME):
        rests_until += rules.scheduler.lease_s
    load = partial(Frontier, rows, rules, now, lives=lives, rests_until=rests_until)
    frontier = await asyncio.to_thread(load)
    try:
        frontier.post_metadata(IDENTITY_NAME, identity)
        frontier.post_metadata(SERVER_NOTE, server)
        frontier.post_metadata(PAUSED_UNTIL_NAME, repr(rests_until).encode())
        frontier.post_metadata(PROCESS_NOTE, msgspec.json.encode(ProcessId.of_this()))
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


async def _start_over(rows: RedisRows, request: OpenRequest) -> None:
    """Delete what is there, unless processes that have joined are at work; keep whose it is."""
    metadata = await asyncio.to_thread(rows.metadata)
    names = [*read_joined(metadata.get(JOINED_NAME))]
    if any(await asyncio.to_thread(rows.messages_exist, [heartbeat(name) for name in names])):
        raise CrawlError(
            f"workers of the crawl {request.name} in {request.address} are still at work: stop "
            "them, and start over then"
        )
    await asyncio.to_thread(rows.prepare, fresh=True)
    if (identity := metadata.get(IDENTITY_NAME)) is not None:  # its results are still its own
        await asyncio.to_thread(begin_writing(rows, {IDENTITY_NAME: identity}))


def _living_workers(metadata: dict[str, bytes]) -> Callable[[int], bool] | None:
    """Return what tells which workers of the process that led the crawl may live; None: none.

    Those that have joined from elsewhere may. Those of its own command end when it does, which is
    known if it was one of this machine.
    """
    joined = {*read_joined(metadata.get(JOINED_NAME)).values()}
    note = metadata.get(PROCESS_NOTE)
    was_killed = metadata.get("closed") == b"no" and note is not None
    if was_killed and not msgspec.json.decode(note or b"", type=ProcessId).has_ended():
        return lambda _: True
    return joined.__contains__ if joined else None


class ProcessId(msgspec.Struct, frozen=True):
    """A process as others of its machine can recognise it."""

    host: str
    boot: str
    """The start of the machine, and the space of process numbers: empty where it is not known."""
    pid: int
    started: str

    @classmethod
    def of_this(cls) -> "ProcessId":
        """Return that of this process."""
        return cls(socket.gethostname(), _boot(), os.getpid(), _started_at(os.getpid()))

    def has_ended(self) -> bool:
        """Tell whether it surely has; False where that cannot be known."""
        if not self.boot or (self.host, self.boot) != (socket.gethostname(), _boot()):
            return False
        return self.pid == os.getpid() or _started_at(self.pid) != self.started


def _boot() -> str:
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 -- it is no path
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() + space
    return ""


def _started_at(pid: int) -> str:
    """Return when a process was started, as the system counts; empty: there is none."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return status.rpartition(")")[2].split()[19]
    return ""


class StandbyFrontier:
    """Waits until nobody leads a crawl, is its frontier then, and gives it back to a coordinator.

    A process that stood still, so that another one leads by now, stands by again.
    """

    def __init__(self, local: CrawlOptions, listener: Listener) -> None:
        self._local = local
        self._listener = listener
        self._clock = steady_clock()
        self._stopped = False
        self._engine: Engine | None = None
        self._is_wanted = False

    @property
    def is_working(self) -> bool:
        """Whether it leads; else it waits for the crawl, or stands by."""
        return self._engine is not None

    def stop(self) -> None:
        """Leave soon."""
        self._stopped = True
        if self._engine is not None:
            self._engine.stop()

    def report(self) -> list[ModuleReport]:
        """Return nothing: a frontier has no modules."""
        return []

    async def run(self) -> str:
        """Stand by or lead until the end of the crawl; return what ended it, or `interrupted`."""
        say = self._listener.say
        async with found_crawl(self._local, say) as (address, _, plan, _):
            await load_scorer(plan).close()  # what it lacks is said before it is needed
            say("info", f"stands by for the crawl {plan.name}")
            while not self._stopped:
                try:
                    ended_by = await self._take_turn(address, plan)
                except (LeadLostError, BodiesLostError) as error:
                    say("warning", f"{error}; stands by again")
                    continue
                if ended_by is not None:
                    return ended_by
        return INTERRUPTED

    async def _take_turn(self, address: RedisAddress, plan: Plan) -> str | None:
        """Stand by and lead once; return what ended the crawl, or None."""
        say = self._listener.say
        async with stand_by(address, plan.name, FRONTIER_ROLE, say) as rows:
            scorer = load_scorer(plan)
            request = OpenRequest(
                address=StoreAddress("redis", url=address.url()),
                name=plan.name,
                directory=None,
                clock=self._clock,
                set_clock=self._clock.set,
                say=say,
            )
            try:
                rules = frontier_rules(plan.options, strict=scorer.strict)
                async with load_frontier(rows, address, request, rules) as crawl:
                    if (ended_by := await crawl.frontier.ended_by()) is not None:
                        return ended_by
                    say("info", f"leads the crawl {plan.name}")

                    def check() -> None:
                        self._is_wanted = rows.is_lead_wanted()

                    async def tick() -> None:
                        await crawl.frontier.between_commits(check)
                        if self._is_wanted:
                            engine.stop()

                    engine = self._engine = make_engine(crawl, plan, scorer, say, tick)
                    ended_by = await engine.run()
                    if self._is_wanted:
                        say("info", "a coordinator is back, and leads the crawl; stands by again")
                    return None if ended_by == INTERRUPTED else ended_by
            finally:
                self._engine, self._is_wanted = None, False
                await scorer.close()
