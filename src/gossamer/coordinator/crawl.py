"""One crawl, from its options to its summary, whatever its store."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from gossamer.coordinator.continuing import (
    ORIGIN_NOTE,
    command_to_continue,
    crawl_command,
    module_changes,
    origin_of,
    read_origin,
)
from gossamer.coordinator.coordinate import LedCrawl, OpenRequest, open_for_work
from gossamer.coordinator.crawl_modules import CrawlModules
from gossamer.coordinator.engine import Engine, Workers, make_engine
from gossamer.coordinator.observer import Observer, RunProgress
from gossamer.coordinator.outputs import (
    CrawlBodies,
    CrawlOutputs,
    OutputSite,
    check_outputs,
    finish_outputs,
    open_outputs,
)
from gossamer.coordinator.plan import Plan, read_options
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.worker_client import WorkerServices
from gossamer.coordinator.processes.worker_config import config_for, steady_clock
from gossamer.coordinator.processes.worker_pool import Autoscale, PoolPlan, WorkerPool
from gossamer.coordinator.scoring import load_scorer, read_report
from gossamer.coordinator.seed_files import SeedFiles
from gossamer.coordinator.summary import Summary, read_given_up, read_seeds
from gossamer.frontier.contract import ANY_DOMAIN, FrontierClient, RetryRequest
from gossamer.frontier.rules import FrontierRules
from gossamer.model import NameTable
from gossamer.modules.contract import Module
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.runner import TIME_LIMIT_S
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.targets import OutputWishes
from gossamer.stores.registry import needs_directory
from gossamer.stores.rows import OPTIONS_NAME, CrawlChangedError
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.sitemaps import as_sitemap


async def has_begun(plan: Plan, store: FrontierClient, observer: Observer, pages: int) -> bool:
    """Tell whether a crawl goes on; say which modules missed its pages, or will."""
    note = await store.note(OPTIONS_NAME)
    before = read_options(note, "the store")
    if before is not None and pages:
        origin = read_origin(await store.note(ORIGIN_NOTE))
        replay = partial(crawl_command, plan, os.environ, "replay", "--module")
        for sentence in module_changes(before.module, plan.options.module, origin, replay):
            observer.say("warning", sentence)
    return note is not None


async def begin(plan: Plan, store: FrontierClient, now: float, *, begun: bool) -> None:
    """Add the seeds of a new crawl, and keep its options, of which some may have changed."""
    if not begun:
        link_filter = LinkFilter(plan.scope, plan.domain_of)
        seeds = [link_filter.file(one) for one in plan.seeds]
        seeds += [as_sitemap(link_filter, one, ANY_DOMAIN) for one in plan.sitemaps]
        await store.add_seeds(seeds, now)
    await store.put_note(OPTIONS_NAME, plan.shared_options())
    origin = origin_of(plan.options, plan.directory)
    await store.put_note(ORIGIN_NOTE, msgspec.json.encode(origin))
    await store.commit()


async def retry_failed(
    store: FrontierClient, request: RetryRequest, clock: Callable[[], float], observer: Observer
) -> None:
    """Let failed URLs wait again, in steps of which each is durable by itself."""
    retried, next_id = 0, 1
    while next_id:
        answer = await store.retry_failed(request, next_id, clock())
        retried += answer.urls
        next_id = answer.next_id or 0
        await store.commit()
    some = f"{retried:,} failed URL{'' if retried == 1 else 's'}"
    observer.say("info", f"{some} to try again")


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
    ) -> None:
        """Prepare; without a launcher the workers are tasks of this process."""
        if plan.options.workers != 0:  # a missing secret is reported before anything starts
            plan.request_rules(os.environ)
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
        self._is_time_over = False
        self._progress = RunProgress(self._clock)
        self._reports: list[ModuleReport] = []
        self._to_retry: RetryRequest | None = None
        self._wishes = OutputWishes.of(
            plan.options,
            plan.name,
            [one.name for one in modules],
            is_of_records=any(one.extracts for one in modules),
        )

    def retry(self, request: RetryRequest) -> None:
        """Let failed URLs be tried again, before `run` goes on with the crawl."""
        self._to_retry = request

    def __repr__(self) -> str:
        seeds = [*self._plan.seeds, *self._plan.sitemaps, *self._plan.options.seed_files]
        more = f" and {len(seeds) - 1:,} more" if len(seeds) > 1 else ""
        return f"<Crawl {self._plan.name!r} from {seeds[0]}{more}>"

    def stop(self) -> None:
        """End the crawl when what is in progress is finished."""
        self._stopped = True
        if self._preparing is not None:
            self._preparing.cancel()
        if self._engine is not None:
            self._engine.stop()

    def _end_time(self) -> None:
        """End the crawl in the same way, because its time is over."""
        if not self._stopped:
            self._is_time_over = True
            self.stop()

    async def run(self) -> Summary:
        """Crawl to the end, a budget or a stop, and return what came of it."""
        self._progress.start()
        check_outputs(self._plan, self._wishes)
        timer = asyncio.get_running_loop().call_later(
            self._plan.options.max_time_s or FOREVER_S, self._end_time
        )
        try:
            while True:
                try:
                    async with open_for_work(self._request()) as opened:
                        return await self._run(opened)
                except CrawlChangedError as error:
                    # Its own workers have ended with it; everything else goes on as it is stored.
                    self._observer.say("warning", f"{error}: reading what is stored, to go on")
        finally:
            timer.cancel()
            if self._launcher is not None:
                await self._launcher.close()
            await self._scorer.close()

    def _launch(self) -> Launcher:
        """Return the launcher, which is there from its first use to the end of the crawl."""
        if self._launcher is None:
            self._launcher = (self._make_launcher or Launcher.spawn)()
            self._launcher.say = partial(self._observer.say, "warning")
        return self._launcher

    def _request(self) -> OpenRequest:
        plan, options = self._plan, self._plan.options
        is_needed = needs_directory(options.store) or (
            options.dir is not None and not options.store.is_shared
        )
        return OpenRequest(
            address=options.store,
            name=plan.name,
            directory=plan.directory if is_needed else None,
            rules=self._rules(),
            check=plan.compare,
            clock=self._clock,
            set_clock=self._own_clock.set,
            fresh=options.fresh and not self._has_opened,
            must_exist=self._has_opened,
            allow_insecure=options.insecure_store,
            say=self._observer.say,
        )

    def _rules(self) -> FrontierRules:
        return self._plan.store_rules(strict=self._scorer.strict)

    async def _run(self, opened: LedCrawl) -> Summary:
        self._has_opened = True
        if not self._wishes.targets:
            return await self._crawl(opened, None)
        site = OutputSite(
            launch=self._launch,
            say=partial(self._observer.say, "warning"),
            on_failure=self.stop,
        )
        async with open_outputs(self._plan, self._wishes, opened, site) as outputs:
            return await self._crawl(opened, outputs)

    async def _crawl(self, opened: LedCrawl, outputs: CrawlOutputs | None) -> Summary:
        store, progress = opened.frontier, self._progress
        if self._to_retry is not None:
            await retry_failed(store, self._to_retry, self._clock, self._observer)
        before = await progress.note_before(store)
        begun = await has_begun(self._plan, store, self._observer, before.pages)
        has_more = not begun or await store.pending_depth_changes(1)
        ended_by = None if has_more else before.ended_by
        was_over = ended_by is not None
        if ended_by is None:
            ended_by = await self._work(opened, begun=begun)
            if ended_by == "interrupted" and self._is_time_over:
                ended_by = "max-time"
        written: list[OutputReport] = []
        if outputs is not None:
            show = partial(progress.show, store, self._observer)
            written = await finish_outputs(outputs, opened, show)
        snapshot = await progress.snapshot(store)
        async with opened.reader() as reader:
            seeds = await read_seeds(reader, self._plan.seeds, self._plan.sitemaps)
            given_up = await read_given_up(reader, snapshot.outcomes)
        return Summary(
            snapshot=snapshot,
            ended_by=ended_by,
            pages_before=progress.pages_before,
            was_over=was_over,
            continue_with=command_to_continue(self._plan, ended_by, os.environ, snapshot),
            directory=opened.where,
            slowest_hosts=await progress.slowest_hosts(store),
            modules=self._reports,
            seeds=seeds,
            given_up=given_up,
            max_page_bytes=self._plan.options.max_page_bytes,
            scorer=await read_report(store),
            outputs=written,
        )

    async def _work(self, opened: LedCrawl, *, begun: bool) -> str:
        """Have the crawl worked on; return what ended it."""
        modules = self._modules
        seed_files = SeedFiles(self._plan, opened.frontier, self._clock, self._observer.say)
        if not await self._prepare(seed_files):
            return "interrupted"
        bodies = await CrawlBodies.open(self._plan, opened, self._observer)

        async def tick() -> None:
            await self._progress.show(opened.frontier, self._observer)
            await bodies.tick(self._clock())

        self._engine = engine = make_engine(
            opened, self._plan, self._scorer, self._observer.say, tick, modules
        )
        if self._stopped:
            engine.stop()
        await modules.open(opened, has_begun=begun)
        try:
            async with self._open_workers(opened, engine.settled) as workers:
                await seed_files.begin()
                await begin(self._plan, opened.frontier, self._clock(), begun=begun)
                async with self._reading(seed_files, engine):
                    ended_by = await engine.run(workers)
        finally:
            await modules.runner.close()
        await modules.conclude(opened, is_over=ended_by != "interrupted")
        await bodies.finish(self._clock())
        self._reports = modules.report(workers.report())
        return ended_by

    async def _prepare(self, seed_files: SeedFiles) -> bool:
        """Read files of seeds for the scope, perhaps from a silent pipe; False: it was stopped."""
        self._preparing = asyncio.create_task(seed_files.prepare())
        if self._stopped:
            self._preparing.cancel()
        await asyncio.wait([self._preparing])
        if self._preparing.cancelled():
            return False
        self._preparing.result()
        return True

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

    @asynccontextmanager
    async def _open_workers(
        self, crawl: LedCrawl, on_settled: Callable[[], None]
    ) -> AsyncIterator[Workers]:
        plan, observer = self._plan, self._observer
        if self._make_launcher is not None:
            config = config_for(plan, self._modules.in_workers, self._clock, store=crawl.address)
            numbering = await crawl.frontier.numbering()
            config = msgspec.structs.replace(
                config,
                coordinator_hooks=self._modules.hooks_here,
                wants_events=observer.wants_events,
                identity=crawl.identity,
                resumed_from=numbering.last_page,
                gaps=numbering.gaps,
                dns=None if self._dns is None else dict(self._dns),
            )
            options = plan.options
            pool = PoolPlan(
                config=config,
                size=Autoscale.of(options.workers, options.connections),
                connections=options.connections,
                new_worker=crawl.new_worker,
            )
            services = WorkerServices(
                listener=observer,
                clock=self._clock,
                store=crawl.frontier,
                outlives=crawl.queues is not None,
                follows_depths=self._modules.follows_depths,
                modules=self._modules.served,
                lock=crawl.worker_lock,
                max_body_bytes=options.max_body_bytes,
            )
            yield WorkerPool(self._launch(), crawl.frontier, pool, services, on_settled)
            return
        # Whoever has worker processes does not load what they need.
        from gossamer.coordinator.in_process import open_tasks  # noqa: PLC0415
        from gossamer.coordinator.processes.worker_main import ProcessContext  # noqa: PLC0415

        own = ProcessContext(
            modules=self._modules.runner,
            clock=self._clock,
            lease_s=plan.options.lease_s,
            watch=observer.event if observer.wants_events else None,
            dns=self._dns,
        )
        async with open_tasks(plan, crawl.frontier, own, on_settled) as tasks:
            yield tasks
