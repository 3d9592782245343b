"""One crawl, from its options to its summary, whatever its store."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from gossamer.cluster.frontier_role import FrontierRole
from gossamer.cluster.launcher import Launcher
from gossamer.coordinator.engine import Engine, Workers
from gossamer.coordinator.observer import Observer, Summary
from gossamer.coordinator.processes import ProcessSetting, open_processes
from gossamer.coordinator.shared_engine import SharedEngine
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.model import NameTable, Snapshot
from gossamer.modules import TIME_LIMIT_S, Module, ModuleContext, ModuleReport, ModuleRunner
from gossamer.plan import Plan, steady_clock
from gossamer.plan.scoring import load_scorer
from gossamer.plan.stored_options import pack_options
from gossamer.stores.contract import Store
from gossamer.stores.opening import OPTIONS_NOTE, OpenedCrawl, OpenRequest
from gossamer.stores.registry import kind_of, open_for_work
from gossamer.stores.rules import StoreRules
from gossamer.worker.links import LinkFilter

HOSTS_SHOWN = 5


class CrawlEngine(Protocol):
    """What runs an opened crawl until it is over or stopped."""

    async def run(self, workers: Workers) -> str:
        """Crawl; return what ended it."""

    def stop(self) -> None:
        """Finish what is in progress and begin nothing more."""

    def settled(self) -> None:
        """Note that workers have told the store something."""


class Crawl:
    """The coordinator of one crawl: sets it up, has it worked on, and takes it down again.

    It may be interrupted at any moment: `stop` ends it with what is in progress finished;
    cancelling `run` gives back what is in progress. Either way it goes on when it is run again.
    """

    def __init__(  # noqa: PLR0913 -- what only some crawls have comes by name
        self,
        plan: Plan,
        modules: Sequence[Module],
        observer: Observer,
        *,
        launcher: Callable[[], Launcher] | None = Launcher.spawn,
        dns: NameTable | None = None,
        module_limit_s: float = TIME_LIMIT_S,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Prepare; without a launcher the workers are tasks of this process."""
        self._plan = plan
        in_here = [one for one in modules if one.in_coordinator or launcher is None]
        self._in_workers = [one for one in modules if one not in in_here]
        self._has_modules = bool(in_here)
        self._runner = ModuleRunner(in_here, time_limit_s=module_limit_s)
        self._modules = modules
        self._observer = observer
        self._launcher = launcher
        self._dns = dns
        self._clock = clock or steady_clock()
        self._scorer = load_scorer(plan)
        self._engine: CrawlEngine | None = None
        self._stopped = False
        self._started = self._clock()
        self._pages_before = 0
        self._reports: list[ModuleReport] = []

    def stop(self) -> None:
        """End the crawl when what is in progress is finished."""
        self._stopped = True
        if self._engine is not None:
            self._engine.stop()

    async def run(self) -> Summary:
        """Crawl to the end, a budget or a stop, and return what came of it."""
        self._started = self._clock()
        try:
            async with open_for_work(self._request()) as opened:
                return await self._run(opened)
        finally:
            await self._scorer.close()

    def _request(self) -> OpenRequest:
        plan, options = self._plan, self._plan.options
        kind = kind_of(options.store)
        is_needed = options.dir is not None or kind.in_directory
        return OpenRequest(
            address=options.store,
            name=plan.name,
            directory=plan.directory if is_needed and not kind.shared else None,
            rules=self._rules(),
            check=plan.compare,
            clock=self._clock,
            fresh=options.fresh,
            allow_insecure=options.insecure_store,
            say=self._observer.say,
        )

    def _rules(self) -> StoreRules:
        return self._plan.store_rules(strict=self._scorer.strict)

    async def _run(self, opened: OpenedCrawl) -> Summary:
        store = opened.store
        before = await store.snapshot(self._clock())
        self._pages_before = before.pages
        begun = await store.note(OPTIONS_NOTE) is not None
        has_more = not begun or await store.pending_depth_changes()
        ended_by = None if has_more else before.ended_by
        was_over = ended_by is not None
        if ended_by is None:
            ended_by = await self._work(opened, begun=begun)
        snapshot = self._rated(await store.snapshot(self._clock()))
        hosts = await store.hosts(HOSTS_SHOWN, self._clock())
        slowest = sorted(hosts, key=lambda host: -host.mean_ms)[:HOSTS_SHOWN]
        return Summary(
            snapshot=snapshot,
            ended_by=ended_by,
            was_over=was_over,
            directory=opened.where,
            slowest_hosts=[host for host in slowest if host.pages],
            modules=self._reports,
        )

    async def _work(self, opened: OpenedCrawl, *, begun: bool) -> str:
        """Have the crawl worked on; return what ended it."""
        self._engine = engine = self._make_engine(opened)
        if self._stopped:
            engine.stop()
        context = await self._module_context(opened.store)
        await ModuleRunner(self._in_workers).prepare(context)
        await self._runner.prepare(context)
        await self._runner.open(context)
        try:
            async with self._open_workers(opened, engine.settled) as workers:
                await self._begin(opened.store, begun=begun)
                ended_by = await engine.run(workers)
        finally:
            await self._runner.close()
        self._reports = self._in_order([*workers.report(), *self._runner.report()])
        return ended_by

    def _open_workers(
        self, opened: OpenedCrawl, on_settled: Callable[[], None]
    ) -> AbstractAsyncContextManager[Workers]:
        if self._launcher is not None:
            processes = ProcessSetting(
                plan=self._plan,
                opened=opened,
                clock=self._clock,
                observer=self._observer,
                runner=self._runner if self._has_modules else None,
                modules=self._in_workers,
                dns=self._dns,
            )
            return open_processes(processes, self._launcher, on_settled)
        # Whoever has worker processes does not load what they need.
        from gossamer.coordinator.in_process import TaskSetting, open_tasks  # noqa: PLC0415

        watch = self._observer.event if self._observer.wants_events else None
        tasks = TaskSetting(
            plan=self._plan, store=opened.store, clock=self._clock, watch=watch, dns=self._dns
        )
        return open_tasks(tasks, self._runner, on_settled)

    def _make_engine(self, opened: OpenedCrawl) -> CrawlEngine:
        options, scorer, store = self._plan.options, self._scorer, opened.store

        async def tick() -> None:
            await self._tick(store)

        if opened.leadership is not None:
            frontier = FrontierRole(self._plan, store, opened.leadership, scorer)
            return SharedEngine(opened, frontier, tick)
        draw = Draw(QueueTable(options.queues), options.draw_seed, strict=scorer.strict)
        return Engine(store, self._clock, scorer, draw, tick, url_queue=options.url_queue)

    async def _module_context(self, store: Store) -> ModuleContext:
        numbering = await store.numbering()
        return ModuleContext(
            directory=self._plan.directory,
            crawl=self._plan.name,
            worker=0,
            resumed_from=numbering.last_page,
            gaps=numbering.gaps,
            shared=kind_of(self._plan.options.store).shared,
        )

    def _in_order(self, reports: Sequence[ModuleReport]) -> list[ModuleReport]:
        """Return the reports in the order of the modules, of those that see pages or failed."""
        found = {report.name: report for report in reports}
        return [
            found[one.name]
            for one in self._modules
            if one.name in found and (one.page is not None or found[one.name].errors)
        ]

    async def _begin(self, store: Store, *, begun: bool) -> None:
        """Add the seeds of a new crawl, and keep its options, of which some may have changed."""
        if not begun:
            link_filter = LinkFilter(self._plan.scope, self._plan.domain_of)
            await store.add_seeds(
                [link_filter.file(one) for one in self._plan.seeds], self._clock()
            )
        await store.put_note(OPTIONS_NOTE, pack_options(self._plan.options))
        await store.commit()

    async def _tick(self, store: Store) -> None:
        """Show how far the crawl is."""
        now = self._clock()
        hosts = await store.hosts(HOSTS_SHOWN, now)
        workers = await store.workers(now)
        self._observer.tick(self._rated(await store.snapshot(now)), hosts, workers)

    def _rated(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the time and the rate of this run."""
        elapsed_s = max(self._clock() - self._started, 1e-9)
        rate = (snapshot.pages - self._pages_before) / elapsed_s
        return msgspec.structs.replace(snapshot, elapsed_s=elapsed_s, pages_per_s=rate)
