"""One crawl, from its options to its summary."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from gossamer.content.started_parser import StartedParser
from gossamer.coordinator.clock import steady_clock
from gossamer.coordinator.context import ProcessContext, open_worker_context
from gossamer.coordinator.directory import CrawlDirectory
from gossamer.coordinator.engine import Engine
from gossamer.coordinator.observer import Observer, Summary
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.scoring import load_scorer
from gossamer.download import NameTable
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.model import Snapshot
from gossamer.modules import TIME_LIMIT_S, Module, ModuleContext, ModuleRunner
from gossamer.stores.contract import Store
from gossamer.stores.embedded.backend import Backend
from gossamer.stores.embedded.memory import MemoryBackend
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.worker.pipeline import WorkerContext, report_depths

HOSTS_SHOWN = 5


class Crawl:
    """Sets a crawl up, runs it and takes it down again.

    It may be interrupted at any moment: `stop` ends it with what is in progress finished;
    cancelling `run` gives back what is in progress. Either way the crawl goes on when it is run
    again.
    """

    def __init__(  # noqa: PLR0913 -- what only some crawls have comes by name
        self,
        plan: Plan,
        modules: Sequence[Module],
        observer: Observer,
        *,
        dns: NameTable | None = None,
        module_limit_s: float = TIME_LIMIT_S,
        clock: Callable[[], float] | None = None,
        parser: StartedParser | None = None,
    ) -> None:
        self._plan = plan
        self._runner = ModuleRunner(modules, time_limit_s=module_limit_s)
        self._scorer = load_scorer(plan)
        self._observer = observer
        self._dns = dns
        self._parser = parser
        self._clock = clock or steady_clock()
        self._engine: Engine | None = None
        self._stopped = False
        self._started = self._clock()
        self._pages_before = 0

    def stop(self) -> None:
        """End the crawl when what is in progress is finished."""
        self._stopped = True
        if self._engine is not None:
            self._engine.stop()

    async def run(self) -> Summary:
        """Crawl to the end, a budget or a stop, and return what came of it."""
        self._started = self._clock()
        with self._directory() as directory:
            async with self._open_store(directory) as (store, backend), AsyncExitStack() as stack:
                begun = backend.get("options") is not None
                has_more = not begun or await store.pending_depth_changes()
                ended_by = None if has_more else await store.ended_by()
                was_over = ended_by is not None
                if ended_by is None:
                    context = await self._set_up(store, stack, directory.path)
                    if begun:
                        backend.put("options", self._plan.note())  # budgets may have changed
                    else:
                        await self._add_seeds(context, backend)
                    ended_by = await self._crawl(context)
                snapshot = self._rated(await store.snapshot(self._clock()))
                hosts = await store.hosts(HOSTS_SHOWN, self._clock())
        slowest = sorted(hosts, key=lambda host: -host.mean_ms)[:HOSTS_SHOWN]
        return Summary(
            snapshot=snapshot,
            ended_by=ended_by,
            was_over=was_over,
            directory=str(self._plan.directory),
            slowest_hosts=[host for host in slowest if host.pages],
            modules=[] if was_over else self._runner.report(),
        )

    def _directory(self) -> CrawlDirectory:
        """Return where state and results go: nowhere, if only the memory is asked for."""
        options = self._plan.options
        nowhere = options.dir is None and options.store.scheme == "memory"
        return CrawlDirectory(self._plan.directory, needed=not nowhere)

    @asynccontextmanager
    async def _open_store(
        self, directory: CrawlDirectory
    ) -> AsyncIterator[tuple[EmbeddedStore, Backend]]:
        """Open the crawl's state, new or as it was left."""
        address = self._plan.options.store
        backend: Backend
        if address.scheme == "memory":
            backend = MemoryBackend()
        else:
            path = address.path or directory.database
            if self._plan.options.fresh:
                directory.clear(path)
            backend = SqliteBackend(path)
        note = backend.get("options")
        if note is not None:
            try:
                self._plan.compare(note)
            except BaseException:
                backend.close()
                raise
        rules = self._plan.store_rules(strict=self._scorer.strict)
        store = EmbeddedStore(backend, rules, self._clock())
        self._pages_before = (await store.snapshot(self._clock())).pages
        try:
            yield store, backend
        finally:
            await store.close()

    async def _set_up(
        self, store: EmbeddedStore, stack: AsyncExitStack, results: Path
    ) -> WorkerContext:
        """Open the client and the modules; the stack closes them again."""
        stack.push_async_callback(self._scorer.close)
        module_context = ModuleContext(
            directory=results,
            crawl=self._plan.name,
            worker=0,
            resumed_from=store.last_page,
            gaps=store.gaps,
        )
        own = ProcessContext(
            runner=self._runner,
            clock=self._clock,
            observer=self._observer,
            dns=self._dns,
            parser=self._parser,
        )
        return await open_worker_context(self._plan, store, own, module_context, stack)

    async def _add_seeds(self, context: WorkerContext, backend: Backend) -> None:
        """Add the seeds, and note the options with which the crawl has begun, in one step."""
        seeds = [context.link_filter.file(seed) for seed in self._plan.seeds]
        await context.store.add_seeds(seeds, self._clock())
        backend.put("options", self._plan.note())
        await context.store.commit()

    async def _crawl(self, context: WorkerContext) -> str:
        """Tell the modules what a crash kept from them, and let the engine run."""
        plan = self._plan
        if pending_depth_changes := await context.store.pending_depth_changes():
            await report_depths(context.store, context.modules, pending_depth_changes)
        draw = Draw(
            QueueTable(plan.options.queues), plan.options.draw_seed, strict=self._scorer.strict
        )
        self._engine = Engine(
            context, self._scorer, draw, plan.slots(), self._tick, plan.options.url_queue
        )
        if self._stopped:
            self._engine.stop()
        return await self._engine.run()

    async def _tick(self, store: Store) -> None:
        """Show how far the crawl is."""
        now = self._clock()
        hosts = await store.hosts(HOSTS_SHOWN, now)
        self._observer.tick(self._rated(await store.snapshot(now)), hosts)

    def _rated(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the time and the rate of this run."""
        elapsed_s = max(self._clock() - self._started, 1e-9)
        rate = (snapshot.pages - self._pages_before) / elapsed_s
        return msgspec.structs.replace(snapshot, elapsed_s=elapsed_s, pages_per_s=rate)
