"""Crawls whose workers are tasks of the coordinator's process: the classic one, tests, `inspect`.

A page that breaks its worker breaks the crawl here: no command uses this for pages of many sites.
`MemoryCrawl` is a crawl that ends with its process; `ClassicCrawl` saves every internal page within
the depth once, the nearest first.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from gossamer.coordinator.engine import Engine
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.processes.worker_channel import steady_clock
from gossamer.coordinator.processes.worker_main import ProcessContext, open_worker_context
from gossamer.coordinator.processes.worker_pool import shares
from gossamer.coordinator.summary import why_no_page
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions, user_agent
from gossamer.frontier.contract import FrontierClient
from gossamer.frontier.router import Draw, QueueTable
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.scorers.builtin import Depth
from gossamer.frontier.service import Frontier
from gossamer.model import Event, EventKind, NameTable, Outcome, Page, Url
from gossamer.model.errors import CrawlError
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.page_directory import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import UrlRecord, UrlState
from gossamer.urls import Scope, merge_slashes
from gossamer.worker.context import Modules, WorkerContext
from gossamer.worker.events import report_depths
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.loop import Worker
from gossamer.worker.robots import PoliteRobots

UNLIMITED = 10**15
SAFETY_LIMIT_BYTES = 64_000_000
"""The classic crawler keeps every page whole; only what could fill the memory is refused."""


class InProcessWorkers:
    """Workers that share one event loop, with the frontier."""

    def __init__(
        self, context: WorkerContext, slots: Sequence[int], on_settled: Callable[[], None]
    ) -> None:
        """Prepare workers with so many slots each, numbered from 0."""
        self._context = context
        self._on_settled = on_settled
        self._workers = [
            Worker(number, context, count, self._settled) for number, count in enumerate(slots)
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
            for task in done:
                task.result()
            await report_depths(store, modules)
        finally:
            for task in running:
                task.cancel()
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
    plan: Plan, store: FrontierClient, process: ProcessContext, on_settled: Callable[[], None]
) -> AsyncIterator[InProcessWorkers]:
    """Open the workers of a crawl as tasks."""
    async with AsyncExitStack() as stack:
        context = await open_worker_context(plan, store, process, stack)
        slots = shares(plan.options.connections, plan.options.workers or 1)
        yield InProcessWorkers(context, slots, on_settled)


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

        async def tick() -> None:
            """Show nothing: whoever wants to see each step watches the context."""

        engine = Engine(self._store, self._clock, Depth(), draw, tick)
        await engine.run(InProcessWorkers(context, [1], engine.settled))


class ClassicPlan(msgspec.Struct, frozen=True):
    """What the classic crawler crawls, and how."""

    seed: Url
    prefix: Url
    """Only URLs that begin with it are internal."""
    max_depth: int
    addresses: AddressPolicy = AddressPolicy()
    """Which private addresses may be contacted."""
    contact: str = ""
    """Sent with every request, for the owners of the site."""
    delay_s: float = 1.0
    """The pause between two fetches. The command has no option for it."""
    dns: NameTable | None = None
    """A table of names to use instead of DNS."""


class ClassicCrawl:
    """Visits every internal page within the depth and saves each once.

    `run` may be cancelled at any moment: pages are saved between two awaits, so every file is whole
    and the counters tell how far it got.
    """

    def __init__(
        self, plan: ClassicPlan, pages: PageDirectory, watch: Callable[[Event], None]
    ) -> None:
        self._plan = plan
        self._pages = pages
        self._watch = watch
        self._crawl = MemoryCrawl(plan.max_depth, plan.delay_s)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How the URLs visited so far ended."""
        outcomes = (record.outcome for record in self._crawl.records())
        return Counter(outcome for outcome in outcomes if outcome is not None)

    @property
    def waiting(self) -> int:
        """How many URLs are known and not yet visited."""
        over = {UrlState.DONE, UrlState.TOO_DEEP}
        return sum(record.state not in over for record in self._crawl.records())

    async def run(self) -> None:
        """Crawl to the end; CrawlError if the seed yields no page or a file cannot be written."""
        plan = self._plan
        options = FetchOptions(
            user_agent=user_agent(plan.contact or None),
            max_body_bytes=SAFETY_LIMIT_BYTES,
            total_timeout_s=60.0,
            connections=1,
        )
        link_filter = LinkFilter(
            Scope.for_prefix(plan.prefix), str, spelling=merge_slashes, comparing=str
        )
        async with Client(options, plan.addresses, plan.dns) as client:
            saver = ClassicSaver(self._pages, self._watch)
            context = self._crawl.context(client, link_filter, saver)
            context = msgspec.structs.replace(context, watch=self._watch)
            await self._crawl.run(plan.seed, context)
        # Every later URL was found on a saved page: no page at all means that the seed had none.
        if self._pages.count == 0:
            *_, last = self._crawl.records()
            raise CrawlError(why_no_page(plan.seed, last))


class ClassicSaver:
    """The one module of the classic crawl."""

    hooks = Hooks(pages=True, depths=True)

    def __init__(self, pages: PageDirectory, watch: Callable[[Event], None]) -> None:
        self._pages = pages
        self._watch = watch

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        """Save a page."""
        self._pages.save(page)
        self._watch(Event(EventKind.SAVED, page.depth, page.url))
        return Delivered()

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Do nothing: nobody asked for this."""
        return Delivered()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Write the smaller depth into the page's file."""
        self._pages.set_depth(page_id, depth)
