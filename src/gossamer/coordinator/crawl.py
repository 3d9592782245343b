"""One crawl, from its options to its summary, whatever its store."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gossamer.content.started_parser import StartedParser
from gossamer.coordinator.clock import steady_clock
from gossamer.coordinator.context import ProcessContext
from gossamer.coordinator.in_process import InProcessWorkers
from gossamer.coordinator.observer import Observer, Summary
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.processes import WorkerProcesses
from gossamer.coordinator.scoring import load_scorer
from gossamer.coordinator.stored_options import pack_options
from gossamer.download import NameTable
from gossamer.model import Snapshot
from gossamer.modules import TIME_LIMIT_S, Module, ModuleReport, ModuleRunner
from gossamer.stores.contract import Store
from gossamer.stores.opening import OPTIONS_NOTE, OpenedCrawl, OpenRequest
from gossamer.stores.registry import kind_of, open_for_work
from gossamer.stores.rules import StoreRules
from gossamer.worker.links import LinkFilter

HOSTS_SHOWN = 5


class Workforce(Protocol):
    """Whoever works on an opened crawl: tasks of this process, or processes of their own."""

    async def run(self) -> str:
        """Work until the crawl is over or stopped; return what ended it."""

    def stop(self) -> None:
        """Finish what is in progress and begin nothing more."""


class Crawl:
    """The coordinator of one crawl: sets it up, has it worked on, and takes it down again.

    It may be interrupted at any moment: `stop` ends it with what is in progress finished;
    cancelling `run` gives back what is in progress. Either way it goes on when it is run again.
    """

    def __init__(  # noqa: PLR0913 -- what only some crawls have comes by name
        self,
        plan: Plan,
        modules: Sequence[Module] | None,
        observer: Observer,
        *,
        dns: NameTable | None = None,
        module_limit_s: float = TIME_LIMIT_S,
        clock: Callable[[], float] | None = None,
        parser: StartedParser | None = None,
    ) -> None:
        """Prepare; without `modules` worker processes load those that the plan names."""
        self._plan = plan
        self._runner = (
            None if modules is None else ModuleRunner(modules, time_limit_s=module_limit_s)
        )
        self._observer = observer
        self._dns = dns
        self._parser = parser
        self._clock = clock or steady_clock()
        self._scorer = load_scorer(plan)
        self._workforce: Workforce | None = None
        self._stopped = False
        self._started = self._clock()
        self._pages_before = 0

    def stop(self) -> None:
        """End the crawl when what is in progress is finished."""
        self._stopped = True
        if self._workforce is not None:
            self._workforce.stop()

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
        lease_s = self._plan.options.lease_s if kind_of(self._plan.options.store).shared else None
        return self._plan.store_rules(strict=self._scorer.strict, lease_s=lease_s)

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
            modules=[] if was_over else self._reports(),
        )

    async def _work(self, opened: OpenedCrawl, *, begun: bool) -> str:
        """Have the crawl worked on; return what ended it."""

        async def begin() -> None:
            await self._begin(opened.store, begun=begun)

        if self._runner is None:
            await begin()
            self._workforce = WorkerProcesses(
                self._plan, opened, self._clock, self._tick, self._observer.say
            )
        else:
            self._workforce = InProcessWorkers(
                self._plan, opened, self._process(self._runner), self._scorer, begin, self._tick
            )
        if self._stopped:
            self._workforce.stop()
        return await self._workforce.run()

    async def _begin(self, store: Store, *, begun: bool) -> None:
        """Add the seeds of a new crawl, and keep its options, of which some may have changed."""
        if not begun:
            link_filter = LinkFilter(self._plan.scope, self._plan.domain_of)
            await store.add_seeds(
                [link_filter.file(one) for one in self._plan.seeds], self._clock()
            )
        await store.put_note(OPTIONS_NOTE, pack_options(self._plan.options))
        await store.commit()

    def _process(self, runner: ModuleRunner) -> ProcessContext:
        return ProcessContext(
            runner=runner,
            clock=self._clock,
            observer=self._observer,
            dns=self._dns,
            lease_s=self._rules().scheduler.lease_s,
            parser=self._parser,
        )

    async def _tick(self, store: Store) -> None:
        """Show how far the crawl is."""
        now = self._clock()
        hosts = await store.hosts(HOSTS_SHOWN, now)
        self._observer.tick(self._rated(await store.snapshot(now)), hosts)

    def _reports(self) -> list[ModuleReport]:
        return [] if self._runner is None else self._runner.report()

    def _rated(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the time and the rate of this run."""
        elapsed_s = max(self._clock() - self._started, 1e-9)
        rate = (snapshot.pages - self._pages_before) / elapsed_s
        return msgspec.structs.replace(snapshot, elapsed_s=elapsed_s, pages_per_s=rate)
