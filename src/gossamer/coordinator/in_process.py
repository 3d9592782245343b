"""The workers of a crawl as tasks of the process that runs it."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from gossamer.coordinator.context import ProcessContext, open_worker_context
from gossamer.coordinator.engine import Engine
from gossamer.coordinator.plan import Plan
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.scorers import Scorer
from gossamer.modules import ModuleContext
from gossamer.stores.contract import Store
from gossamer.stores.opening import OpenedCrawl
from gossamer.stores.registry import kind_of
from gossamer.worker.pipeline import WorkerContext, report_depths

POLL_EVERY_S = 0.05
"""How often a shared store is asked for what other processes have left to do."""


class InProcessWorkers:
    """Frontier and workers of one crawl, as tasks on one event loop."""

    def __init__(
        self,
        plan: Plan,
        opened: OpenedCrawl,
        own: ProcessContext,
        scorer: Scorer,
        begin: Callable[[], Awaitable[None]],
        on_tick: Callable[[Store], Awaitable[None]],
    ) -> None:
        self._plan = plan
        self._opened = opened
        self._own = own
        self._scorer = scorer
        self._begin = begin
        """Is awaited when everything is set up and nothing is begun yet."""
        self._on_tick = on_tick
        self._engine: Engine | None = None
        self._stopped = False

    def stop(self) -> None:
        """Finish what is in progress and begin nothing more."""
        self._stopped = True
        if self._engine is not None:
            self._engine.stop()

    async def run(self) -> str:
        """Work until the crawl is over or stopped; return what ended it."""
        store = self._opened.store
        async with AsyncExitStack() as stack:
            context = await open_worker_context(
                self._plan, store, self._own, await self._module_context(), stack
            )
            await self._begin()
            if nearer := await store.pending_depth_changes():  # a crash kept them from the modules
                await report_depths(store, context.modules, nearer)
            self._engine = await self._make_engine(context)
            if self._stopped:
                self._engine.stop()
            return await self._engine.run()

    async def _module_context(self) -> ModuleContext:
        numbering = await self._opened.store.numbering()
        return ModuleContext(
            directory=self._plan.directory,
            crawl=self._plan.name,
            worker=0,
            resumed_from=numbering.last_page,
            gaps=numbering.gaps,
            shared=self._is_shared,
        )

    async def _make_engine(self, context: WorkerContext) -> Engine:
        options, scorer = self._plan.options, self._scorer
        slots = self._plan.slots()
        return Engine(
            context,
            scorer,
            Draw(QueueTable(options.queues), options.draw_seed, strict=scorer.strict),
            slots,
            self._on_tick,
            url_queue=options.url_queue,
            numbers=[await self._opened.new_worker() for _ in slots],
            poll_s=POLL_EVERY_S if self._is_shared else None,
        )

    @property
    def _is_shared(self) -> bool:
        return kind_of(self._plan.options.store).shared
