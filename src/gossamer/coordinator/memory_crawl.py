"""A small crawl from one seed, kept in memory: the classic crawler and `inspect` are built on it.

One worker has one request at a time and takes the nearest URL first. A failure is not tried again,
and every page is kept, also one that repeats another.
"""

from collections.abc import Iterable

from gossamer.coordinator.engine import Engine
from gossamer.coordinator.in_process import InProcessWorkers
from gossamer.download import Client
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.frontier.scorers import Depth
from gossamer.frontier.service import Frontier
from gossamer.model import Url
from gossamer.plan.clock import steady_clock
from gossamer.stores.sqlite import SqliteRows
from gossamer.stores.url_record import UrlRecord
from gossamer.worker.context import WorkerContext
from gossamer.worker.hooks import Modules
from gossamer.worker.links import LinkFilter
from gossamer.worker.robots import PoliteRobots

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
