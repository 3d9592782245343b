"""Joining a crawl that is in the store already, from any machine."""

import asyncio
import os
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Literal, NoReturn, Self

import msgspec

from gossamer.channel.channel import PROTOCOL
from gossamer.channel.queues import Hello, QueueClient
from gossamer.config import IN_DIRECTORY, CrawlOptions, StoreAddress
from gossamer.coordinator.coordinate import FRONTIER_ROLE, OpenRequest, open_to_lead
from gossamer.coordinator.engine import Engine, make_engine
from gossamer.coordinator.plan import Plan, unpack_options
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.worker_config import (
    JOINED_CONTRACTS,
    JOINING,
    MODULES_NOTE,
    OVER_NOTE,
    Joining,
    Level,
    SteadyClock,
    config_for,
    steady_clock,
)
from gossamer.coordinator.processes.worker_pool import (
    Autoscale,
    Listener,
    PoolPlan,
    WorkerPool,
    WorkerServices,
    cores,
)
from gossamer.coordinator.scoring import load_scorer
from gossamer.frontier.contract import FRONTIER, FrontierClient
from gossamer.model import Event
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.contract import Hooks, Module
from gossamer.modules.loading import load_modules
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.directory import find_crawl
from gossamer.stores.files import IDENTITY_NOTE
from gossamer.stores.reading import WORKERS_NOTE, read_workers
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.connect import (
    JOINED_NOTE,
    checked_address,
    clock_offset_s,
    open_rows,
    read_joined,
    stand_by,
)
from gossamer.stores.redis.crawls import find_crawl_name
from gossamer.stores.redis.lead import LeadHolder, LeadLostError
from gossamer.stores.redis.message_queues import JoinedQueues, alive
from gossamer.stores.redis.own_server import await_running
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.registry import address_in
from gossamer.stores.rows import OPTIONS_NOTE

SILENT_S = 15.0
"""A worker that lives is heard of many times in this."""


async def check_health(
    own: CrawlOptions, role: Literal["frontier", "worker"] | None, number: int | None = None
) -> str:
    """Return in a sentence that all is well; raise `CrawlError` if it is not."""
    address, name = await find_shared_crawl(own)
    rows = await asyncio.to_thread(RedisRows, address, name)
    return await asyncio.to_thread(_check, rows, str(address), name, role, number)


def _check(
    rows: RedisRows,
    address: str,
    name: str,
    role: Literal["frontier", "worker"] | None,
    number: int | None,
) -> str:
    try:
        metadata = rows.metadata()
        if OPTIONS_NOTE not in metadata:
            # Roles may be started before the crawl: they wait for it, in good health.
            return f"{address} answers; the crawl {name} has not begun"
        if role == "frontier":
            return _frontier(rows.holder(), rows.standbys(), name)
        if role == "worker" or number is not None:
            return _worker(_living_workers(rows, metadata), name, number)
        return f"{address} answers, and holds the crawl {name}"
    finally:
        rows.close()


def _living_workers(rows: RedisRows, metadata: dict[str, bytes]) -> set[int]:
    """Return the numbers of those that have joined and live, and of those the frontier hears of."""
    joined = read_joined(metadata.get(JOINED_NOTE))
    signs = rows.are_there([alive(one) for one in joined])
    numbers = {
        number
        for number, lives in zip(joined.values(), signs, strict=True)
        if lives and number is not None
    }
    note = metadata.get(WORKERS_NOTE)
    views = [] if note is None else read_workers(note, rows.server_time())
    return numbers | {view.number for view in views if view.silent_s < SILENT_S}


def _frontier(holder: LeadHolder | None, standbys: list[LeadHolder], name: str) -> str:
    if holder is None and not standbys:
        raise CrawlError(f"nobody is the frontier of the crawl {name}")
    return f"the crawl {name} has a frontier"


def _worker(numbers: set[int], name: str, number: int | None) -> str:
    if number is None and numbers:
        return f"the crawl {name} has {len(numbers)} worker{'' if len(numbers) == 1 else 's'}"
    if number in numbers:
        return f"worker {number} of the crawl {name} is alive"
    who = "no worker" if number is None else f"worker {number}"
    was = "is" if number is None else "is not"
    raise CrawlError(f"{who} of the crawl {name} {was} alive")


PATIENCE_S: Final = 60.0
"""How long a process waits for a crawl that is not there yet: it may have been started first."""
ASK_EVERY_S: Final = 0.2
CLOSE_WITHIN_S: Final = 2.0


class JoinedCrawl(msgspec.Struct, frozen=True):
    """What a process needs to take part."""

    plan: Plan
    client: QueueClient
    """Its end of the queues to the frontier."""
    store: FrontierClient
    frontier: Joining
    clock: SteadyClock
    metadata: dict[str, bytes]
    identity: str
    rows: RedisRows

    async def is_led(self) -> bool:
        """Tell whether a process leads it; a CrawlError if it is not there any more."""
        if not await asyncio.to_thread(self.rows.is_there):
            raise CrawlError(
                f"the crawl {self.plan.name} is not in the store any more: it was deleted, or the "
                "server has lost its data"
            )
        return await asyncio.to_thread(self.rows.holder) is not None


class JoinLog:
    """A listener that also sends warnings and errors to the frontier."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.client: QueueClient | None = None
        self.role = "a process"
        """What this process is in the crawl."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""
        self._listener.event(event)

    def say(self, level: Level, message: str, **fields: str | float) -> None:
        """Take a message."""
        self._listener.say(level, message, **fields)
        if level != "info":
            self.send(level, message)

    def send(self, level: Literal["warning", "error"], words: str) -> None:
        """Send a message to the frontier, without waiting for it."""
        if self.client is not None:
            who = f"{self.role} on {socket.gethostname()}"
            self.client.notify(JOINING.methods["say"], level, who, words)


async def find_shared_crawl(options: CrawlOptions) -> tuple[RedisAddress, str]:
    """Return where the shared store is, and the name of the crawl that is meant."""
    store = options.store
    if store == IN_DIRECTORY and options.dir is not None:
        store = address_in(options.dir)
    if not store.is_shared:
        raise UsageError(
            f"{options.store} is not a shared store: give the address of one with --store "
            "redis://HOST, or in the variable GOSSAMER_STORE"
        )
    address = parse_address(store.url) if store.is_server else await _own_server(options)
    if options.name is not None:
        return address, options.name  # it may not have begun, and the server may not be there yet
    return address, await asyncio.to_thread(find_crawl_name, address, None)


async def _own_server(options: CrawlOptions) -> RedisAddress:
    directory = find_crawl(options.dir, Path())
    address = await await_running(directory)
    if address is None:
        raise CrawlError(
            f"no crawl with a Redis of its own is running in {directory}: begin it there with "
            "gossamer crawl … --store redis:"
        )
    return address


@asynccontextmanager
async def found_crawl(
    own: CrawlOptions, say: Callable[[Level, str], None]
) -> AsyncIterator[tuple[RedisAddress, RedisRows, Plan, dict[str, bytes]]]:
    """Find a crawl, waiting for it to begin; `own` says where it is and what it is called."""
    address, name = await find_shared_crawl(own)
    store = StoreAddress("redis", url=address.url())
    own = replace(own, store=store, name=name)
    await checked_address(store, name, say, allow_insecure=own.insecure_store)
    async with open_rows(address, name, say) as rows:
        metadata = await _metadata(rows, name, address, say)
        yield address, rows, Plan(unpack_options(metadata[OPTIONS_NOTE], own)), metadata


async def _metadata(
    rows: RedisRows, name: str, address: RedisAddress, say: Callable[[Level, str], None]
) -> dict[str, bytes]:
    """Return what is stored with the crawl as soon as it has begun."""
    give_up_at, is_said = time.monotonic() + PATIENCE_S, False
    while True:
        await asyncio.to_thread(rows.is_there)
        metadata = await asyncio.to_thread(rows.metadata)
        if OPTIONS_NOTE in metadata:
            return metadata
        if not is_said:
            is_said = True
            say("info", f"waiting for the crawl {name} to begin")
        if time.monotonic() >= give_up_at:
            raise CrawlError(
                f"there is no crawl {name} in {address}: begin it with gossamer crawl, or see "
                "whether the name is right"
            )
        await asyncio.sleep(ASK_EVERY_S)


@asynccontextmanager
async def join_crawl(own: CrawlOptions, log: JoinLog) -> AsyncIterator[JoinedCrawl]:
    """Take part in a crawl."""
    async with found_crawl(own, log.say) as (address, rows, plan, metadata):
        clock = SteadyClock(await asyncio.to_thread(clock_offset_s, rows, leads=False))
        client, queues = open_client(address, plan.name, None, partial(log.say, "warning"))
        log.client = client
        try:
            yield JoinedCrawl(
                plan=plan,
                client=client,
                store=FRONTIER.proxy(client),
                frontier=JOINING.proxy(client),
                clock=clock,
                metadata=metadata,
                identity=metadata.get(IDENTITY_NOTE, b"").decode(),
                rows=rows,
            )
        except CrawlError as error:
            log.send("error", str(error))
            raise
        finally:
            await client.close(CLOSE_WITHIN_S)
            await queues.close()


def open_client(
    address: RedisAddress,
    crawl: str,
    worker: int | None,
    tell: Callable[[str], None],
) -> tuple[QueueClient, JoinedQueues]:
    """Open the queues of a process to the frontier of a crawl."""
    kind = "command" if worker is None else f"worker-{worker}"
    queues = JoinedQueues(address, RowKeys(crawl), f"{kind}-{token_hex(4)}", tell)
    return QueueClient(JOINED_CONTRACTS, queues, Hello(PROTOCOL, worker)), queues


LOOK_EVERY_S = 2.0
"""How often it is looked whether the crawl is there, and whether anybody leads it."""


class JoinPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How many workers a command has that joins, and how many requests they may have under way."""

    size: Autoscale
    connections: int
    numbers: tuple[int, ...] = ()
    """Those of the workers that there are from the beginning."""

    @property
    def name(self) -> str:
        """What these workers are called."""
        numbers = ", ".join(map(str, self.numbers))
        if self.size.most == 1:
            return f"worker {numbers}"
        return f"workers {numbers}{' …' * (self.size.least < self.size.most)}"

    @classmethod
    def of(cls, workers: int | None, options: CrawlOptions) -> Self:
        """Return it for the command's own option and the options of the crawl.

        Each worker has as many connections as one of the crawl's own, and all of them together
        never more than a crawl may have; a UsageError if that is not one for each.
        """
        own = cores() if options.workers is None else max(1, options.workers)
        most = cores() if workers is None else workers
        connections = max(1, options.connections * min(most, own) // own)
        if workers is not None and connections < workers:
            raise UsageError(
                f"the {connections} connections that the crawl gives to a command cannot be shared "
                f"by {workers} workers, each of which needs one: give --workers {connections}"
            )
        return cls(size=Autoscale.of(workers, connections), connections=connections)


class JoinedWorkers:
    """The workers of one command in a shared crawl, and this process, which replaces them."""

    def __init__(
        self,
        own: CrawlOptions,
        listener: Listener,
        launcher: Launcher,
        workers: int | None,
        number: int | None,
    ) -> None:
        """Prepare; `workers` is None if there may be more and more of them, by need."""
        self._own = own
        self._log = JoinLog(listener)
        self._launcher = launcher
        self._workers = workers
        self._number = number
        self._pool: WorkerPool | None = None
        self._running: asyncio.Task[str] | None = None
        self._stopped = asyncio.Event()
        launcher.say = partial(self._log.say, "warning")

    def stop(self) -> None:
        """Finish what is in progress and leave, or do not join at all."""
        self._stopped.set()
        if self._pool is None and self._running is not None:
            self._running.cancel()

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules."""
        return [] if self._pool is None else self._pool.report()

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        self._running = asyncio.ensure_future(self._run())
        try:
            return await self._running
        except asyncio.CancelledError:
            self._running.cancel()
            await asyncio.wait([self._running])
            if self._stopped.is_set() and self._pool is None:
                return INTERRUPTED
            raise

    async def _run(self) -> str:
        self._log.role = "a worker" if self._workers == 1 else "workers"
        async with join_crawl(self._own, self._log) as member:
            if (ended_by := member.metadata.get(OVER_NOTE)) and not await member.is_led():
                return ended_by.decode()
            joining = JoinPlan.of(self._workers, member.plan.options)
            member.plan.request_rules(os.environ)  # reports a missing secret before it joins
            modules = [
                one for one in load_modules(member.plan.options.module) if not one.in_coordinator
            ]
            own = () if self._number is None else (self._number,)
            new = [await self._new_number(member) for _ in range(joining.size.least - len(own))]
            joining = msgspec.structs.replace(joining, numbers=(*own, *new))
            self._log.role = joining.name
            verb = "joins" if joining.size.most == 1 else "join"
            self._log.say("info", f"{joining.name} {verb} the crawl {member.plan.name}")
            self._pool = self._make_pool(member, joining, modules)
            return await self._work(member, self._pool)

    async def _new_number(self, member: JoinedCrawl) -> int:
        """Return the number of one more worker."""
        asking = asyncio.ensure_future(member.frontier.new_worker())
        watching = asyncio.create_task(self._watch(member))
        ends: list[asyncio.Future[Any]] = [asking, watching]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else await watching
        finally:
            asking.cancel()
            watching.cancel()

    async def _watch(self, member: JoinedCrawl) -> NoReturn:
        """Say when nobody leads the crawl; a CrawlError when it is not in the store any more."""
        is_led, name = True, member.plan.name
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            was_led, is_led = is_led, await member.is_led()
            if was_led and not is_led:
                words = f"nobody leads the crawl {name}: waiting for a gossamer crawl or frontier"
                self._log.say("info", words)

    def _make_pool(
        self, member: JoinedCrawl, joining: JoinPlan, modules: Sequence[Module]
    ) -> WorkerPool:
        options = member.plan.options
        note = member.metadata.get(MODULES_NOTE)
        config = config_for(
            member.plan,
            modules,
            member.clock,
            store=options.store,
        )
        config = msgspec.structs.replace(
            config,
            coordinator_hooks=None if note is None else msgspec.json.decode(note, type=Hooks),
            identity=member.identity,
            has_joined=True,
        )
        numbers = deque(joining.numbers)

        async def next_number() -> int:
            return numbers.popleft() if numbers else await member.frontier.new_worker()

        plan = PoolPlan(
            config=config,
            size=joining.size,
            connections=joining.connections,
            new_worker=next_number,
            is_over=member.client.over.done,
        )
        services = WorkerServices(
            listener=self._log, clock=member.clock, max_body_bytes=options.max_body_bytes
        )
        return WorkerPool(self._launcher, member.store, plan, services, lambda: None)

    async def _work(self, member: JoinedCrawl, pool: WorkerPool) -> str:
        """Have the workers work until the crawl is over, or this process is to leave."""
        over = member.client.over
        work = asyncio.create_task(pool.run())
        others = asyncio.create_task(self._stopped.wait()), asyncio.create_task(self._watch(member))
        try:
            ends: list[asyncio.Future[Any]] = [work, over, *others]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if others[1].done():
                others[1].result()
            pool.stop()
            await work
        finally:
            for one in (work, *others):
                one.cancel()
            await asyncio.gather(work, *others, return_exceptions=True)
        return over.result() if over.done() else INTERRUPTED


INTERRUPTED = "interrupted"


class NoWorkers:
    """The workers of a frontier that has none of its own."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Wait until stopped."""
        await self._stopped.wait()

    def wake(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped.set()

    def report(self) -> list[ModuleReport]:
        """Return nothing: there are no modules."""
        return []


class StandbyFrontier:
    """Waits until nobody leads a crawl, is its frontier then, and gives it back to a coordinator.

    A process that stood still, so that another one leads by now, stands by again.
    """

    def __init__(self, own: CrawlOptions, listener: Listener) -> None:
        self._own = own
        self._listener = listener
        self._clock = steady_clock()
        self._stopped = asyncio.Event()
        self._engine: Engine | None = None
        self._is_wanted = False

    def stop(self) -> None:
        """Leave soon."""
        self._stopped.set()
        if self._engine is not None:
            self._engine.stop()

    def report(self) -> list[ModuleReport]:
        """Return nothing: a frontier has no modules."""
        return []

    async def run(self) -> str:
        """Stand by or lead until the end of the crawl; return what ended it, or `interrupted`."""
        say = self._listener.say
        async with found_crawl(self._own, say) as (address, _, plan, _):
            await load_scorer(plan).close()  # what it lacks is said before it is needed
            say("info", f"stands by for the crawl {plan.name}")
            while not self._stopped.is_set():
                try:
                    ended_by = await self._take_turn(address, plan)
                except LeadLostError as error:
                    say("warning", f"{error}; stands by again")
                    continue
                if ended_by is not None:
                    return ended_by
        return INTERRUPTED

    async def _take_turn(self, address: RedisAddress, plan: Plan) -> str | None:
        """Stand by and lead once; return what ended the crawl, or None."""
        say = self._listener.say
        async with stand_by(address, plan.name, FRONTIER_ROLE, say, self._stopped) as rows:
            if rows is None:
                return None
            scorer = load_scorer(plan)
            request = OpenRequest(
                address=StoreAddress("redis", url=address.url()),
                name=plan.name,
                directory=None,
                rules=plan.frontier_rules(strict=scorer.strict),
                check=lambda _: None,
                clock=self._clock,
                set_clock=self._clock.set,
                say=say,
            )
            try:
                async with open_to_lead(rows, address, request) as crawl:
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
                    ended_by = await engine.run(NoWorkers())
                    if self._is_wanted:
                        say("info", "a coordinator is back, and leads the crawl; stands by again")
                    return None if ended_by == INTERRUPTED else ended_by
            finally:
                self._engine, self._is_wanted = None, False
                await scorer.close()
