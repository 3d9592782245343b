"""Workers as tasks of the process that coordinates the crawl: small crawls, tests, embedding.

A page that breaks its worker breaks the crawl here: no command uses this for pages of many sites.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from gossamer.coordinator.engine import Engine
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.processes.worker_config import steady_clock
from gossamer.coordinator.processes.worker_main import ProcessContext, open_worker_context
from gossamer.coordinator.processes.worker_pool import shares
from gossamer.download.client import Client
from gossamer.frontier.contract import FrontierClient
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.frontier.scorers import Depth
from gossamer.frontier.service import Frontier
from gossamer.model import Url
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import UrlRecord
from gossamer.worker.context import Modules, WorkerContext
from gossamer.worker.events import report_depths
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.loop import Worker
from gossamer.worker.robots import PoliteRobots


class InProcessWorkers:
    """Workers that share one event loop, with the frontier."""

    def __init__(
        self, context: WorkerContext, slots: Sequence[int], on_settled: Callable[[], None]
    ) -> None:
        """Prepare workers with so many slots each, numbered from 0."""
        self._context = context
        self._on_settled = on_settled
        self._workers = [
            Worker(number, context, n, self._settled) for number, n in enumerate(slots)
        ]
        if context.sitemaps is not None:
            context.sitemaps.on_added = self._settled

    def wake(self) -> None:
        """Have a look: URLs were assigned."""
        for worker in self._workers:
            worker.wake()

    def stop(self) -> None:
        """Finish what is in progress; `run` returns then."""
        for worker in self._workers:
            worker.stop()

    async def run(self) -> None:
        """Work until stopped; give back what is in progress if cancelled."""
        store, modules = self._context.store, self._context.modules
        for worker in self._workers:
            await store.join(worker.number, self._context.clock())
        self._on_settled()  # the frontier has somebody to assign URLs to
        running = [asyncio.create_task(worker.run()) for worker in self._workers]
        try:
            # Not `gather`: it returns before all have given back what they had, and they would be
            # cancelled a second time in the middle of that.
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            for one in done:
                one.result()
            await report_depths(store, modules)
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def report(self) -> list[ModuleReport]:
        """Return nothing: all modules run in the coordinator's process, as the workers do."""
        return []

    def _settled(self) -> None:
        self._on_settled()
        for worker in self._workers:
            if worker.starved:
                worker.wake()


@asynccontextmanager
async def open_tasks(
    plan: Plan, store: FrontierClient, own: ProcessContext, on_settled: Callable[[], None]
) -> AsyncIterator[InProcessWorkers]:
    """Open the workers of a crawl as tasks."""
    async with AsyncExitStack() as stack:
        context = await open_worker_context(plan, store, own, stack)
        slots = shares(plan.options.connections, plan.options.workers or 1)
        yield InProcessWorkers(context, slots, on_settled)


UNLIMITED = 10**15


class MemoryCrawl:
    """A crawl that ends with its process; `records` tells how far it got, at any moment."""

    def __init__(self, max_depth: int, delay_s: float) -> None:
        rules = FrontierRules(
            scheduler=SchedulerRules(strict=True, delay_s=delay_s),
            max_depth=max_depth,
            max_pages=UNLIMITED,
            max_bytes=UNLIMITED,
            max_task_bytes=UNLIMITED,
            similarity=None,
        )
        self._max_depth = max_depth
        self._clock = steady_clock()
        self._store = Frontier(SqliteRows(), rules, self._clock())

    def records(self) -> Iterable[UrlRecord]:
        """Return every URL that is known, in the order in which they were found."""
        return self._store.records()

    def context(self, client: Client, link_filter: LinkFilter, modules: Modules) -> WorkerContext:
        """Return what the worker needs; the caller may add to it before `run`."""
        return WorkerContext(
            store=self._store,
            client=client,
            robots=PoliteRobots(client, self._store, str, self._clock),
            link_filter=link_filter,
            modules=modules,
            clock=self._clock,
            max_depth=self._max_depth,
            retries=0,
        )

    async def run(self, seed: Url, context: WorkerContext) -> None:
        """Crawl from the seed until no URL is left."""
        await self._store.add_seeds([context.link_filter.file(seed)], self._clock())
        draw = Draw(QueueTable(SchedulerRules().queues), 0, strict=True)
        engine = Engine(self._store, self._clock, Depth(), draw, _no_tick)
        await engine.run(InProcessWorkers(context, [1], engine.settled))


async def _no_tick() -> None:
    """Show nothing: whoever wants to see each step watches the context."""
