"""Joining a shared crawl from any machine: `gossamer worker`, and the check of its health.

The process that joins reaches the frontier through queues in Redis. It has a pool of workers, like
a coordinator; each of them has queues of its own.
"""

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
from typing import Any, Final, Literal, Self

import msgspec

from gossamer.channel.resending import QueueClient
from gossamer.config import IN_DIRECTORY, CrawlOptions, StoreAddress
from gossamer.coordinator.plan import Plan, request_rules
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.worker_channel import (
    JOINING,
    MODULES_NOTE,
    OVER_NOTE,
    SteadyClock,
    config_for,
    open_queues,
)
from gossamer.coordinator.processes.worker_pool import (
    Autoscale,
    Listener,
    PoolPlan,
    WorkerPool,
    cores,
)
from gossamer.coordinator.resume import unpack_options
from gossamer.frontier.contract import FRONTIER
from gossamer.model import Event, Level
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.contract import Hooks, Module
from gossamer.modules.loading import load_modules
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.crawl_views import WORKERS_NAME, read_workers
from gossamer.stores.directory import find_crawl
from gossamer.stores.files import IDENTITY_NAME
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.crawls import find_crawl_name
from gossamer.stores.redis.message_queues import heartbeat
from gossamer.stores.redis.own_server import await_running
from gossamer.stores.redis.rows import (
    JOINED_NAME,
    RedisRows,
    checked_address,
    clock_offset_s,
    open_rows,
    read_joined,
)
from gossamer.stores.registry import address_in
from gossamer.stores.rows import OPTIONS_NAME

PATIENCE_S: Final = 60.0
"""How long a process waits for a crawl that is not there yet: it may have been started first."""
ASK_EVERY_S: Final = 0.2
WATCH_EVERY_S: Final = 2.0
"""How often a process checks whether the crawl is there, and whether anybody leads it."""
CLOSE_WITHIN_S: Final = 2.0
MISSED_END_S: Final = 10.0
"""How long workers may take to end when the crawl is over and nobody is there to answer them."""
SILENT_S: Final = 15.0
"""A worker that lives is heard of many times in this."""
INTERRUPTED: Final = "interrupted"


# -- finding a crawl -----------------------------------------------------------------------------


@asynccontextmanager
async def found_crawl(
    local: CrawlOptions, say: Callable[[Level, str], None]
) -> AsyncIterator[tuple[RedisAddress, RedisRows, Plan, dict[str, bytes]]]:
    """Find a crawl, waiting for it to begin; `local` says where it is and what it is called."""
    address, name = await find_shared_crawl(local)
    store = StoreAddress("redis", url=address.url())
    local = replace(local, store=store, name=name)
    await checked_address(store, name, say, allow_insecure=local.insecure_store)
    async with open_rows(address, name, say) as rows:
        give_up_at, has_said = time.monotonic() + PATIENCE_S, False
        while True:
            await asyncio.to_thread(rows.exists)
            metadata = await asyncio.to_thread(rows.metadata)
            if (options := metadata.get(OPTIONS_NAME)) is not None:
                break
            if not has_said:
                has_said = True
                say("info", f"waiting for the crawl {name} to begin")
            if time.monotonic() >= give_up_at:
                raise CrawlError(
                    f"there is no crawl {name} in {address}: begin it with gossamer crawl, or see "
                    "whether the name is right"
                )
            await asyncio.sleep(ASK_EVERY_S)
        yield address, rows, Plan(unpack_options(options, local)), metadata


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


# -- the workers of a command --------------------------------------------------------------------


class JoinedCrawl(msgspec.Struct, frozen=True):
    """A crawl in which this process takes part."""

    plan: Plan
    client: QueueClient
    """This end of the queues to the frontier."""
    clock: SteadyClock
    metadata: dict[str, bytes]
    rows: RedisRows

    async def new_worker(self) -> int:
        """Return the number of a worker that counts from now on."""
        return await JOINING.proxy(self.client).new_worker()

    async def is_led(self) -> bool:
        """Tell whether a process leads it; a CrawlError if it is not there any more."""
        if not await asyncio.to_thread(self.rows.exists):
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

    def send(self, level: Literal["warning", "error"], message: str) -> None:
        """Send a message to the frontier, without waiting for it."""
        if self.client is not None:
            who = f"{self.role} on {socket.gethostname()}"
            self.client.notify(JOINING.methods["say"], level, who, message)


@asynccontextmanager
async def join_crawl(local: CrawlOptions, log: JoinLog) -> AsyncIterator[JoinedCrawl]:
    """Take part in a crawl."""
    async with found_crawl(local, log.say) as (address, rows, plan, metadata):
        clock = SteadyClock(await asyncio.to_thread(clock_offset_s, rows, leads=False))
        client, queues = open_queues(address, plan.name, None, partial(log.say, "warning"))
        log.client = client
        try:
            yield JoinedCrawl(plan, client, clock, metadata, rows)
        except CrawlError as error:
            log.send("error", str(error))
            raise
        finally:
            await client.close(CLOSE_WITHIN_S)
            await queues.close()


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
        in_crawl = cores() if options.workers is None else max(1, options.workers)
        most = cores() if workers is None else workers
        connections = max(1, options.connections * min(most, in_crawl) // in_crawl)
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
        local: CrawlOptions,
        listener: Listener,
        launcher: Launcher,
        workers: int | None,
        number: int | None,
    ) -> None:
        """Prepare; `workers` is None if there may be more and more of them, by need."""
        self._local = local
        self._log = JoinLog(listener)
        self._launcher = launcher
        self._workers = workers
        self._number = number
        self._pool: WorkerPool | None = None
        self._stopped = asyncio.Event()
        self._has_missed_end = False
        launcher.say = partial(self._log.say, "warning")

    @property
    def is_working(self) -> bool:
        """Whether it has joined; until then it waits for the crawl, or for a frontier."""
        return self._pool is not None

    def stop(self) -> None:
        """Finish what is in progress and leave."""
        self._stopped.set()

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules."""
        return [] if self._pool is None else self._pool.report()

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        self._log.role = "a worker" if self._workers == 1 else "workers"
        async with join_crawl(self._local, self._log) as crawl:
            if (ended_by := crawl.metadata.get(OVER_NOTE)) and not await crawl.is_led():
                return ended_by.decode()
            options = crawl.plan.options
            joining = JoinPlan.of(self._workers, options)
            request_rules(options, os.environ)  # reports a missing secret before it joins
            modules = load_modules(options.module)
            first = () if self._number is None else (self._number,)
            numbers = [*first]
            while len(numbers) < joining.size.least:
                if (number := await self._new_number(crawl)) is None:
                    return crawl.client.over.result()
                numbers.append(number)
            joining = msgspec.structs.replace(joining, numbers=tuple(numbers))
            self._log.role = joining.name
            verb = "joins" if joining.size.most == 1 else "join"
            self._log.say("info", f"{joining.name} {verb} the crawl {crawl.plan.name}")
            here = [module for module in modules if not module.in_coordinator]
            self._pool = self._make_pool(crawl, joining, here)
            return await self._work(crawl, self._pool)

    async def _new_number(self, crawl: JoinedCrawl) -> int | None:
        """Return the number of one more worker; None: the crawl is over."""
        asking = asyncio.ensure_future(crawl.new_worker())
        try:
            await self._wait_for_any(crawl, asking)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()

    async def _wait_for_any(self, crawl: JoinedCrawl, *events: asyncio.Future[Any]) -> None:
        """Wait for one of the events, or the end of the crawl.

        A CrawlError when the crawl is not there any more.
        """
        watching = asyncio.create_task(self._watch(crawl))
        try:
            await asyncio.wait(
                [*events, crawl.client.over, watching], return_when=asyncio.FIRST_COMPLETED
            )
            if watching.done():
                watching.result()
        finally:
            watching.cancel()

    async def _watch(self, crawl: JoinedCrawl) -> None:
        """Say when nobody leads the crawl; return when it is over, and nobody has told us.

        Whoever was slow to hear of the end finds its queue gone. A CrawlError when the crawl is not
        in the store any more.
        """
        is_led, name, over = True, crawl.plan.name, crawl.client.over
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            was_led, is_led = is_led, await crawl.is_led()
            if is_led:
                continue
            (ended_by,) = await asyncio.to_thread(crawl.rows.read_metadata, [OVER_NOTE])
            if ended_by and not over.done():
                self._has_missed_end = True
                over.set_result(ended_by.decode())
            if over.done():
                return
            if was_led:
                message = f"nobody leads the crawl {name}: waiting for a gossamer crawl or frontier"
                self._log.say("info", message)

    def _make_pool(
        self, crawl: JoinedCrawl, joining: JoinPlan, modules: Sequence[Module]
    ) -> WorkerPool:
        options, hooks = crawl.plan.options, crawl.metadata.get(MODULES_NOTE)
        config = config_for(crawl.plan, modules, crawl.clock, store=options.store)
        config = msgspec.structs.replace(
            config,
            coordinator_hooks=None if hooks is None else msgspec.json.decode(hooks, type=Hooks),
            identity=crawl.metadata.get(IDENTITY_NAME, b"").decode(),
            has_joined=True,
        )
        numbers = deque(joining.numbers)

        async def next_number() -> int:
            return numbers.popleft() if numbers else await crawl.new_worker()

        plan = PoolPlan(
            config=config,
            size=joining.size,
            connections=joining.connections,
            max_body_bytes=options.max_body_bytes,
            new_worker=next_number,
            is_over=crawl.client.over.done,
            listener=self._log,
            clock=crawl.clock,
        )
        return WorkerPool(self._launcher, FRONTIER.proxy(crawl.client), plan)

    async def _work(self, crawl: JoinedCrawl, pool: WorkerPool) -> str:
        """Have the workers work until the crawl is over, or this process is to leave."""
        over = crawl.client.over
        work = asyncio.create_task(pool.run())
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await self._wait_for_any(crawl, work, stopping)
            pool.stop()
            await asyncio.wait([work], timeout=MISSED_END_S if self._has_missed_end else None)
            if work.done():
                work.result()
        finally:
            work.cancel()
            stopping.cancel()
            await asyncio.gather(work, stopping, return_exceptions=True)
        return over.result() if over.done() else INTERRUPTED


# -- the health of a crawl -----------------------------------------------------------------------


async def check_health(
    local: CrawlOptions, role: Literal["frontier", "worker"] | None, number: int | None = None
) -> str:
    """Return in a sentence that all is well; raise `CrawlError` if it is not."""
    address, name = await find_shared_crawl(local)
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
        if OPTIONS_NAME not in metadata:
            # Roles may be started before the crawl: they wait for it, in good health.
            return f"{address} answers; the crawl {name} has not begun"
        if role == "frontier":
            if rows.holder() is None and not rows.standbys():
                raise CrawlError(f"nobody is the frontier of the crawl {name}")
            return f"the crawl {name} has a frontier"
        if role == "worker" or number is not None:
            return _check_worker(_living_workers(rows, metadata), name, number)
        return f"{address} answers, and holds the crawl {name}"
    finally:
        rows.close()


def _living_workers(rows: RedisRows, metadata: dict[str, bytes]) -> set[int]:
    """Return the numbers of those that have joined and live, and of those the frontier hears of."""
    joined = read_joined(metadata.get(JOINED_NAME))
    heartbeats = rows.messages_exist([heartbeat(name) for name in joined])
    numbers = {
        number
        for number, lives in zip(joined.values(), heartbeats, strict=True)
        if lives and number is not None
    }
    note = metadata.get(WORKERS_NAME)
    views = [] if note is None else read_workers(note, rows.server_time())
    return numbers | {view.number for view in views if view.silent_s < SILENT_S}


def _check_worker(numbers: set[int], name: str, number: int | None) -> str:
    if number is None and numbers:
        return f"the crawl {name} has {len(numbers)} worker{'' if len(numbers) == 1 else 's'}"
    if number in numbers:
        return f"worker {number} of the crawl {name} is alive"
    if number is None:
        raise CrawlError(f"no worker of the crawl {name} is alive")
    raise CrawlError(f"worker {number} of the crawl {name} is not alive")
