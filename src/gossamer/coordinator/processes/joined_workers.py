"""Workers that join a shared crawl from anywhere: processes that are replaced when they die."""

import asyncio
import os
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn, Self

import msgspec

from gossamer.config import CrawlOptions
from gossamer.coordinator.processes.join import MemberLog, Membership, join_crawl
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.worker_client import Listener, WorkerServices
from gossamer.coordinator.processes.worker_config import MODULES_NOTE, OVER_NOTE, config_for
from gossamer.coordinator.processes.worker_pool import Autoscale, PoolPlan, WorkerPool, cores
from gossamer.model.errors import UsageError
from gossamer.modules.contract import Hooks, Module
from gossamer.modules.loading import load_modules
from gossamer.modules.module_stats import ModuleReport

INTERRUPTED = "interrupted"
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


class JoiningCommand:
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
        self._log = MemberLog(listener)
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

    async def _new_number(self, member: Membership) -> int:
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

    async def _watch(self, member: Membership) -> NoReturn:
        """Say when nobody leads the crawl; a CrawlError when it is not in the store any more."""
        is_led, name = True, member.plan.name
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            was_led, is_led = is_led, await member.is_led()
            if was_led and not is_led:
                words = f"nobody leads the crawl {name}: waiting for a gossamer crawl or frontier"
                self._log.say("info", words)

    def _make_pool(
        self, member: Membership, joining: JoinPlan, modules: Sequence[Module]
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

    async def _work(self, member: Membership, pool: WorkerPool) -> str:
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
