"""One crawl, from its options to its summary, whatever its store."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from gossamer.coordinator.coordinate import OpenedCrawl, OpenRequest, open_to_crawl
from gossamer.coordinator.engine import Engine, Workers, make_engine
from gossamer.coordinator.observer import Observer, RunProgress
from gossamer.coordinator.outputs import CrawlBodies, CrawlOutputs, check_outputs, open_outputs
from gossamer.coordinator.plan import Plan, frontier_rules, request_rules
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.worker_channel import MODULES_NOTE, config_for, steady_clock
from gossamer.coordinator.processes.worker_pool import Autoscale, PoolPlan, WorkerPool
from gossamer.coordinator.resume import (
    ORIGIN_NOTE,
    check_unchanged,
    command_to_continue,
    crawl_command,
    module_changes,
    origin_of,
    pack_plan,
    read_options,
    read_origin,
)
from gossamer.coordinator.scoring import load_scorer, read_report
from gossamer.coordinator.seed_files import SeedFiles
from gossamer.coordinator.summary import Summary, read_given_up, read_seeds
from gossamer.frontier.contract import ANY_DOMAIN, FrontierClient, RetryRequest
from gossamer.model import NameTable
from gossamer.modules.contract import Hooks, Module, ModuleContext
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.remote import CoordinatorModules, ServedModules, WorkerModules
from gossamer.modules.runner import TIME_LIMIT_S, ModuleRunner
from gossamer.outputs.targets import OutputWishes
from gossamer.stores.registry import needs_directory
from gossamer.stores.rows import OPTIONS_NAME, CrawlChangedError
from gossamer.worker.events import report_depths
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.sitemaps import as_sitemap

FOREVER_S = 3e8
"""Ten years: without a limit a crawl has all the time there is."""


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
        to_retry: RetryRequest | None = None,
    ) -> None:
        """Prepare; without a launcher the workers are tasks of this process.

        `to_retry` are failed URLs that are tried again before the crawl goes on.
        """
        if plan.options.workers != 0:  # a missing secret is reported before anything starts
            request_rules(plan.options, os.environ)
        self._plan = plan
        self._modules = CrawlModules(
            plan, modules, all_here=launcher is None, time_limit_s=module_limit_s
        )
        self._observer = observer
        self._make_launcher = launcher
        self._launcher: Launcher | None = None
        self._dns = dns
        self._own_clock = steady_clock()
        self._clock = clock or self._own_clock
        self._scorer = load_scorer(plan, dns)
        self._engine: Engine | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._stopped = False
        self._has_opened = False
        self._is_open = False
        self._outputs_failed = False
        """Whether the outputs of the crawl as it is open now cannot be written."""
        self._is_time_over = False
        self._reports: list[ModuleReport] = []
        self._to_retry = to_retry
        self._wishes = OutputWishes.of(
            plan.options,
            plan.name,
            [module.name for module in modules],
            is_of_records=any(module.extracts for module in modules),
        )

    @property
    def is_working(self) -> bool:
        """Whether the crawl is open; until then it waits for its store, or for others to end."""
        return self._is_open

    def stop(self) -> None:
        """End the crawl when what is in progress is finished."""
        self._stopped = True
        self._stop_work()

    def _stop_work(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
        if self._engine is not None:
            self._engine.stop()

    def _end_for_outputs(self) -> None:
        """End the work: what it finds is not written. A crawl that is opened again goes on."""
        self._outputs_failed = True
        self._stop_work()

    def _end_time(self) -> None:
        """End the crawl in the same way, because its time is over."""
        if not self._stopped:
            self._is_time_over = True
            self.stop()

    async def run(self) -> Summary:
        """Crawl to the end, a budget or a stop, and return what came of it."""
        self._progress = RunProgress(self._clock)
        check_outputs(self._plan, self._wishes)
        limit_s = self._plan.options.max_time_s or FOREVER_S
        timer = asyncio.get_running_loop().call_later(limit_s, self._end_time)
        rules = frontier_rules(self._plan.options, strict=self._scorer.strict)
        try:
            while True:
                try:
                    async with open_to_crawl(self._open_request(), rules) as crawl:
                        self._has_opened, self._is_open, self._outputs_failed = True, True, False
                        say = partial(self._observer.say, "warning")
                        async with open_outputs(
                            self._plan,
                            self._wishes,
                            crawl,
                            self._launch,
                            say,
                            self._end_for_outputs,
                        ) as outputs:
                            return await self._crawl(crawl, outputs)
                except CrawlChangedError as error:
                    # Its own workers have ended with it; everything else goes on as it is stored.
                    self._is_open = False
                    self._observer.say("warning", f"{error}: reading what is stored, to go on")
        finally:
            timer.cancel()
            if self._launcher is not None:
                await self._launcher.close()
            await self._scorer.close()

    def _open_request(self) -> OpenRequest:
        plan, options = self._plan, self._plan.options
        is_needed = needs_directory(options.store) or (
            options.dir is not None and not options.store.is_shared
        )
        return OpenRequest(
            address=options.store,
            name=plan.name,
            directory=plan.directory if is_needed else None,
            say=self._observer.say,
            fresh=options.fresh and not self._has_opened,
            must_exist=self._has_opened,
            allow_insecure=options.insecure_store,
            clock=self._clock,
            set_clock=self._own_clock.set,
            check=partial(check_unchanged, options),
        )

    async def _crawl(self, crawl: OpenedCrawl, outputs: CrawlOutputs | None) -> Summary:
        """Have an opened crawl worked on, unless it is over; return what came of it."""
        plan, store, progress = self._plan, crawl.frontier, self._progress
        if self._to_retry is not None:
            await _retry_failed(store, self._to_retry, self._clock, self._observer)
        before = await progress.note_before(store)
        options = await store.metadata(OPTIONS_NAME)
        if options is not None and before.pages:
            await self._warn_of_module_changes(store, options)
        # One that was killed at its very end has not told its modules of all shorter paths.
        is_whole = options is not None and not await store.pending_depth_changes(1)
        ended_by = before.ended_by if is_whole else None
        was_over = ended_by is not None
        if ended_by is None:
            ended_by = await self._work(crawl, has_begun=options is not None)
            if ended_by == "interrupted" and self._is_time_over:
                ended_by = "max-time"
        show = partial(progress.show, store, self._observer)
        reports = [] if outputs is None else await outputs.finish(show)
        snapshot = await progress.snapshot(store)
        async with crawl.reader() as reader:
            seeds = await read_seeds(reader, plan.seeds, plan.sitemaps)
            given_up = await read_given_up(reader, snapshot.outcomes)
        return Summary(
            snapshot=snapshot,
            ended_by=ended_by,
            pages_before=progress.pages_before,
            was_over=was_over,
            continue_with=command_to_continue(plan, ended_by, os.environ, snapshot),
            directory=crawl.where,
            slowest_hosts=await progress.slowest_hosts(store),
            modules=self._reports,
            seeds=seeds,
            given_up=given_up,
            max_page_bytes=plan.options.max_page_bytes,
            scorer=await read_report(store),
            outputs=reports,
        )

    async def _warn_of_module_changes(self, store: FrontierClient, options: bytes) -> None:
        """Say which modules missed the pages that are there, or will miss the next."""
        before = read_options(options, "the store")
        origin = read_origin(await store.metadata(ORIGIN_NOTE))
        replay = partial(crawl_command, self._plan, os.environ, "replay", "--module")
        modules = before.module if before is not None else ()
        for message in module_changes(modules, self._plan.options.module, origin, replay):
            self._observer.say("warning", message)

    async def _work(self, crawl: OpenedCrawl, *, has_begun: bool) -> str:
        """Have the crawl worked on; return what ended it."""
        modules, store = self._modules, crawl.frontier
        seed_files = SeedFiles(self._plan, store, self._clock, self._observer.say)
        if not await self._prepare(seed_files):
            return "interrupted"
        bodies = CrawlBodies(self._plan, crawl, self._observer)
        await bodies.open()

        async def tick() -> None:
            await self._progress.show(store, self._observer)
            await bodies.tick(self._clock())

        self._engine = engine = make_engine(
            crawl, self._plan, self._scorer, self._observer.say, tick, modules.served
        )
        if self._stopped or self._outputs_failed:
            engine.stop()
        await modules.open(crawl, has_begun=has_begun)
        try:
            async with self._open_workers(crawl, engine.settled) as workers:
                await seed_files.begin()
                await self._store_start(crawl, has_begun=has_begun)
                async with self._reading(seed_files, engine):
                    ended_by = await engine.run(workers)
            await modules.tell_depths(crawl)
        finally:
            await modules.runner.close()
        await modules.conclude(crawl, is_over=ended_by != "interrupted")
        await bodies.finish(self._clock())
        self._reports = modules.report(workers.report())
        return ended_by

    async def _prepare(self, seed_files: SeedFiles) -> bool:
        """Read files of seeds for the scope, perhaps from a silent pipe; False: it was stopped."""
        self._preparing = asyncio.create_task(seed_files.prepare())
        if self._stopped or self._outputs_failed:
            self._preparing.cancel()
        await asyncio.wait([self._preparing])
        if self._preparing.cancelled():
            return False
        self._preparing.result()
        return True

    async def _store_start(self, crawl: OpenedCrawl, *, has_begun: bool) -> None:
        """Add the seeds of a new crawl, and keep its options, of which some may have changed."""
        plan, store = self._plan, crawl.frontier
        if not has_begun:
            link_filter = LinkFilter(plan.scope, plan.domain_of)
            seeds = [link_filter.file(seed) for seed in plan.seeds]
            seeds += [as_sitemap(link_filter, sitemap, ANY_DOMAIN) for sitemap in plan.sitemaps]
            await store.add_seeds(seeds, self._clock())
        await store.put_metadata(OPTIONS_NAME, pack_plan(plan))
        origin = origin_of(plan.options, plan.directory)
        await store.put_metadata(ORIGIN_NOTE, msgspec.json.encode(origin))
        await store.commit()

    @asynccontextmanager
    async def _reading(self, seed_files: SeedFiles, engine: Engine) -> AsyncIterator[None]:
        """Read the files of seeds meanwhile; what goes wrong with them ends the crawl."""

        def ended(task: "asyncio.Task[None]") -> None:
            if not task.cancelled() and task.exception() is not None:
                engine.stop()

        reading = asyncio.create_task(seed_files.add_all(engine.settled))
        reading.add_done_callback(ended)
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        if not reading.cancelled():
            reading.result()

    def _launch(self) -> Launcher:
        """Return the launcher, which is there from its first use to the end of the crawl."""
        if self._launcher is None:
            self._launcher = (self._make_launcher or Launcher.spawn)()
            self._launcher.say = partial(self._observer.say, "warning")
        return self._launcher

    @asynccontextmanager
    async def _open_workers(
        self, crawl: OpenedCrawl, on_settled: Callable[[], None]
    ) -> AsyncIterator[Workers]:
        plan, observer, modules = self._plan, self._observer, self._modules
        if self._make_launcher is not None:
            numbering = await crawl.frontier.numbering()
            config = config_for(plan, modules.in_workers, self._clock, store=crawl.address)
            config = msgspec.structs.replace(
                config,
                coordinator_hooks=modules.hooks_here,
                wants_events=observer.wants_events,
                identity=crawl.identity,
                resumed_from=numbering.last_page,
                gaps=numbering.gaps,
                dns=None if self._dns is None else dict(self._dns),
            )
            pool = PoolPlan(
                config=config,
                size=Autoscale.of(plan.options.workers, plan.options.connections),
                connections=plan.options.connections,
                max_body_bytes=plan.options.max_body_bytes,
                new_worker=lambda: crawl.frontier.new_worker(crawl.clock()),
                listener=observer,
                clock=self._clock,
                frontier=crawl.frontier,
                outlives=crawl.queues is not None,
                modules=modules.served,
                lock=crawl.worker_lock,
            )
            yield WorkerPool(self._launch(), crawl.frontier, pool, on_settled)
            return
        # Whoever has worker processes does not load what they need.
        from gossamer.coordinator.in_process import open_tasks  # noqa: PLC0415
        from gossamer.coordinator.processes.worker_main import ProcessContext  # noqa: PLC0415

        process = ProcessContext(
            modules=modules.runner,
            clock=self._clock,
            lease_s=plan.options.lease_s,
            watch=observer.event if observer.wants_events else None,
            dns=self._dns,
        )
        async with open_tasks(plan, crawl.frontier, process, on_settled) as tasks:
            yield tasks


class CrawlModules:
    """The modules of one crawl: some run in this process, the others in its workers."""

    def __init__(
        self, plan: Plan, modules: Sequence[Module], *, all_here: bool, time_limit_s: float
    ) -> None:
        """Prepare; `all_here`: the workers are tasks of this process."""
        self._plan = plan
        self._all = modules
        here = [module for module in modules if module.in_coordinator or all_here]
        self.in_workers = [module for module in modules if module not in here]
        self.runner = ModuleRunner(here, time_limit_s=time_limit_s)
        """The modules that run in this process."""
        self._elsewhere = ModuleRunner(self.in_workers)
        self.served = ServedModules(self.runner) if here else None
        """The same modules, as worker processes call them; None: there are none."""
        self.hooks_here: Hooks | None = self.runner.hooks if here else None

    async def open(self, crawl: OpenedCrawl, *, has_begun: bool) -> None:
        """Let the modules begin; workers elsewhere are told which hooks those of this process have.

        Others may be at work in the same directory if the crawl has begun.
        """
        context = await self._context(crawl, may_have_company=has_begun)
        await self._elsewhere.prepare(context)
        await self.runner.prepare(context)
        await self.runner.open(context)
        if crawl.queues is not None and self.hooks_here is not None:
            await crawl.frontier.put_metadata(MODULES_NOTE, msgspec.json.encode(self.hooks_here))

    async def tell_depths(self, crawl: OpenedCrawl) -> None:
        """Tell of the shorter paths of which a worker that died at the end has not told."""
        if not await crawl.frontier.pending_depth_changes(1):
            return
        elsewhere = ModuleRunner([module for module in self.in_workers if module.depth_changed])
        await elsewhere.open(await self._context(crawl, may_have_company=True))
        try:
            here = CoordinatorModules(ServedModules(self.runner), self.runner.hooks)
            await report_depths(crawl.frontier, WorkerModules(elsewhere, here))
        finally:
            await elsewhere.close()

    async def conclude(self, crawl: OpenedCrawl, *, is_over: bool) -> None:
        """Let the modules finish their results, where all workers have ended."""
        context = await self._context(crawl, may_have_company=not is_over)
        await self._elsewhere.conclude(context)
        await self.runner.conclude(context)

    def report(self, in_workers: Sequence[ModuleReport]) -> list[ModuleReport]:
        """Return the reports in the order of the modules, of those that see something or failed."""
        reports = {report.name: report for report in (*in_workers, *self.runner.report())}
        return [
            reports[module.name]
            for module in self._all
            if module.name in reports
            and (module.page or module.finished or reports[module.name].errors)
        ]

    async def _context(self, crawl: OpenedCrawl, *, may_have_company: bool) -> ModuleContext:
        numbering = await crawl.frontier.numbering()
        return ModuleContext(
            directory=self._plan.directory,
            crawl=self._plan.name,
            identity=crawl.identity,
            worker=0,
            resumed_from=numbering.last_page,
            gaps=numbering.gaps,
            shared=may_have_company and self._plan.options.store.is_shared,
        )


async def _retry_failed(
    store: FrontierClient, request: RetryRequest, clock: Callable[[], float], observer: Observer
) -> None:
    """Let failed URLs wait again, in steps of which each is durable by itself."""
    retried, next_id = 0, 1
    while next_id:
        answer = await store.retry_failed(request, next_id, clock())
        retried += answer.urls
        next_id = answer.next_id or 0
        await store.commit()
    urls = f"{retried:,} failed URL{'' if retried == 1 else 's'}"
    observer.say("info", f"{urls} to try again")
