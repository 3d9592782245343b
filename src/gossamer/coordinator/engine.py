"""The engine of a crawl: the frontier at work, and what keeps its store in order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from gossamer.coordinator.coordinate import OpenedCrawl
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.scoring import WatchedScorer
from gossamer.frontier.router import Draw, QueueTable, Router
from gossamer.frontier.scorers.builtin import Scorer
from gossamer.frontier.scorers.loading import SafeScorer
from gossamer.frontier.service import Frontier
from gossamer.model import Level
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.remote import ServedModules

if TYPE_CHECKING:
    from gossamer.coordinator.processes.joined_processes import JoinedProcesses

COMMIT_EVERY_S = 0.1
"""How often what was done becomes durable, if nobody waits for it."""
COMMIT_PAUSE_S = 0.05
"""How long a commit waits for more, so that it is for many; answers to workers wait for it. At
1,000 pages/s of a worker 50 of its pages wait, of `in_flight.MOST_SETTLING` that may."""
SHARED_PAUSE_S = 0.02
"""How long it does at most in a store that others may take over."""
SHARED_PAUSES = 2.0
"""How much longer it waits for more than the last one took, in a store that others may take over:
there leases are told after a commit, too, and a host with one connection waits for each."""
REAP_EVERY_S = 5.0
TICK_EVERY_S = 1.0


class Workers(Protocol):
    """The workers of a crawl: processes (`worker_pool`), or tasks (`in_process`)."""

    async def run(self) -> None:
        """Work until stopped; break off what is in progress if cancelled."""

    def wake(self) -> None:
        """Have a look: URLs were assigned."""

    def stop(self) -> None:
        """Finish what is in progress; `run` returns then."""

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules that run in the workers."""


def make_engine(
    crawl: OpenedCrawl,
    plan: Plan,
    scorer: SafeScorer,
    say: Callable[[Level, str], None],
    on_tick: Callable[[], Awaitable[None]],
    modules: ServedModules | None = None,
) -> "Engine":
    """Return the engine of an opened crawl; `modules` are those of this process, if any."""
    watched = WatchedScorer(scorer, crawl.frontier, say)
    draw = Draw(QueueTable(plan.options.queues), plan.options.draw_seed, strict=watched.strict)
    if crawl.queues is None:
        return Engine(crawl.frontier, crawl.clock, watched, draw, on_tick)
    # Whoever crawls into a file does not load the client of a server.
    from gossamer.coordinator.processes.joined_processes import JoinedProcesses  # noqa: PLC0415

    engine = Engine(crawl.frontier, crawl.clock, watched, draw, on_tick, crawl.renew_lead)
    engine.joined = JoinedProcesses(
        crawl.frontier, crawl.queues, crawl.clock, say, modules, engine.settled
    )
    return engine


class Engine:
    """Runs one crawl over an open store, with workers that tell it what they have settled.

    `stop` lets the tasks in progress come to their end; cancelling `run` gives them back.
    """

    def __init__(
        self,
        store: Frontier,
        clock: Callable[[], float],
        scorer: Scorer,
        draw: Draw,
        on_tick: Callable[[], Awaitable[None]],
        renew_lead: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Prepare; `renew_lead` is called every second, to stay the one that has the crawl."""
        self._store = store
        self._clock = clock
        self._router = Router(store, scorer, draw, clock, self._assigned)
        self._on_tick = on_tick
        self._renew_lead = renew_lead
        self.joined: JoinedProcesses | None = None
        """Those that have joined from elsewhere, if any can."""
        self._workers: Workers | None = None
        self._news = asyncio.Event()
        self._stopped = False
        self._ending = asyncio.Event()
        """Set when nothing more is begun, so that no commit waits for more."""

    def stop(self) -> None:
        """Begin nothing more; what is in progress comes to its end."""
        self._stopped = True
        self._news.set()

    def settled(self) -> None:
        """Note that workers have told the store something."""
        self._router.wake()
        self._news.set()

    async def run(self, workers: Workers | None = None) -> str:
        """Crawl; return what ended it: `complete`, `max-pages`, `max-bytes` or `interrupted`.

        Without workers all of them have joined from elsewhere.
        """
        self._workers = workers
        helpers = [self._router.run(), self._commit_regularly(), self._reap(), self._tick()]
        if self._renew_lead is not None:
            helpers.append(self._renew_regularly(self._renew_lead))
        if self.joined is not None:
            await self.joined.begin()
            helpers.append(self.joined.run())
        tasks = [asyncio.create_task(helper) for helper in helpers]
        work = None if workers is None else asyncio.create_task(workers.run())
        if work is not None:
            tasks.append(work)
        for task in tasks:
            task.add_done_callback(lambda _: self._news.set())
        try:
            ended_by = await self._end(tasks)
            self._ending.set()
            if workers is not None and work is not None:
                workers.stop()
                await asyncio.wait([work])  # who quits meanwhile is heard of before the workers are
                work.result()
            # What was in progress when it was stopped may have been the last.
            over = await self._store.ended_by()
            if over is not None and self.joined is not None:
                await self.joined.finish(over)
        except asyncio.CancelledError:
            self._store.give_up()
            raise
        else:
            return over or ended_by
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self, tasks: Sequence["asyncio.Task[None]"]) -> str:
        """Wait for the end; whatever breaks in between is raised here."""
        while True:
            for task in tasks:
                if task.done():
                    task.result()
            if self._stopped:
                return "interrupted"
            ended_by = await self._store.ended_by()
            if ended_by is not None:
                return ended_by
            self._news.clear()
            await self._news.wait()

    def _assigned(self) -> None:
        self._news.set()  # the last shorter path may have been followed to its end
        if self._workers is not None:
            self._workers.wake()
        if self.joined is not None:
            self.joined.wake()

    async def _commit_regularly(self) -> None:
        loop, is_shared = asyncio.get_running_loop(), self._renew_lead is not None
        pause_s = min(COMMIT_PAUSE_S, SHARED_PAUSE_S) if is_shared else COMMIT_PAUSE_S
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._store.commit_wanted(), COMMIT_EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._ending.wait()
            begun = loop.time()
            await self._store.commit()
            if is_shared:
                longest_s = min(COMMIT_PAUSE_S, SHARED_PAUSE_S)
                pause_s = min(longest_s, SHARED_PAUSES * (loop.time() - begun))

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(REAP_EVERY_S)
            if await self._store.reap(self._clock()):
                self._router.wake()
            if self.joined is not None:
                self.joined.forget_gone()
            while await self._store.expire(self._clock()):  # noqa: ASYNC110 -- no event to wait for
                await asyncio.sleep(0)  # others have their turn between two steps

    async def _renew_regularly(self, renew_lead: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(TICK_EVERY_S)
            await renew_lead()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_EVERY_S)
            await self._store.note_workers(self._clock())
            await self._on_tick()
