"""The worker processes of a command on this machine: started, watched, replaced, and seen off."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.launcher_process import ProcessEnded
from gossamer.coordinator.processes.worker_client import WorkerClient, WorkerServices
from gossamer.coordinator.processes.worker_config import WorkerConfig
from gossamer.frontier.contract import FrontierClient
from gossamer.model.errors import CrawlError
from gossamer.modules.module_stats import SUMMED_COUNTS, ModuleReport
from gossamer.stores.reconnect import PATIENCE_S

BUSY = 0.6
"""A worker that wants a core for this share of the time has as much to do as it can do."""


class Autoscale(msgspec.Struct, frozen=True):
    """The number of workers: so many from the beginning, and more while that helps."""

    least: int
    most: int

    @classmethod
    def of(cls, workers: int | None, connections: int) -> "Autoscale":
        """Return it for the option: a number, or None for as many as there is work for."""
        if workers is not None:
            return cls(workers, workers)
        return cls(1, max(1, min(cores(), connections)))

    def wants_more(self, busy: Sequence[float], ready_hosts: int) -> bool:
        """Tell whether one more worker helps: all others are busy, and hosts wait for them.

        `busy` has the share of the time in which each worker wanted a core lately.
        """
        return len(busy) < self.most and ready_hosts > 0 and min(busy, default=BUSY) >= BUSY


def cores() -> int:
    """Return how many cores this process may use: in a container often fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shares(total: int, parts: int) -> list[int]:
    """Return a number in as many parts, as equal as can be, each at least 1."""
    share, rest = divmod(total, max(1, parts))
    return [max(1, share + (part < rest)) for part in range(parts)]


CHECK_EVERY_S = 0.05
ADD_EVERY_S = 0.3
"""How soon after a worker was added another one may be: it has to show what it can do."""
MOST_FALLS = 5
"""How often in a row workers may die soon after their start, without a page in hand."""
SOON_S = 20.0
"""A worker that has lived longer was in good health, and is replaced as often as it dies."""
LEAVE_WITHIN_S = 2.0
"""How long workers may take to give back what is in progress when the crawl is broken off."""
DISMISS_WITHIN_S = 1.0
"""How long the store may then take to hear of them: it may be away, and their leases run out."""
SILENCE_SHARE = 0.8
LEAST_SILENCE_S = 5.0


class PoolPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers are to do, and how many there are."""

    config: WorkerConfig
    """For all of them; number and slots are those of each."""
    size: Autoscale
    connections: int
    """How many requests all of them together may have under way."""
    new_worker: Callable[[], Awaitable[int]]
    """Returns a number that no other worker has."""
    is_over: Callable[[], bool] = lambda: False
    """Tells whether the crawl is over, where the frontier is not asked any more."""

    @property
    def silence_s(self) -> float:
        """How long a worker may be silent: it ends before others may have its URLs."""
        return max(LEAST_SILENCE_S, SILENCE_SHARE * self.config.lease_s)


class WorkerPool:
    """The workers of a crawl as processes.

    Who dies is replaced by one with the same number, and so is who is silent for too long: a page
    that hangs its worker costs it its life, like one that crashes it. What the dead had is taken
    back at once, and `dismiss` tells the store which pages they had in hand.
    """

    def __init__(
        self,
        launcher: Launcher,
        store: FrontierClient,
        plan: PoolPlan,
        services: WorkerServices,
        on_news: Callable[[], None],
    ) -> None:
        """Prepare; `on_news` is called when workers have told the store something."""
        self._launcher = launcher
        self._store = store
        self._plan = plan
        self._services = services
        self._on_news = on_news
        self._workers: dict[int, WorkerClient] = {}
        self._reports: list[ModuleReport] = []
        """The counts of the modules in workers that have ended."""
        self._changing = asyncio.Lock()
        """Held while the set of workers changes."""
        self._unseen: deque[ProcessEnded] = deque()
        """Who has ended and is not yet seen off."""
        self._missing: deque[int] = deque()
        """The numbers of the dead whose successors count already, and are still to be started."""
        self._adding: asyncio.Task[None] | None = None
        self._add_at = 0.0
        self._has_begun = False
        self._falls = 0
        self._stopping = False
        self._changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"<WorkerPool: {len(self._workers)} workers>"

    def wake(self) -> None:
        """Let the workers have what there may be for them now."""
        for worker in self._workers.values():
            worker.wake()

    def stop(self) -> None:
        """Have the workers finish what is in progress; `run` returns when they have."""
        self._stopping = True
        for worker in self._workers.values():
            worker.stop()
        self._changed.set()

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules, over all workers, the dead ones too."""
        there = [report for one in self._workers.values() for report in one.module_reports]
        return _sums([*self._reports, *there])

    async def run(self) -> None:
        """Work until stopped; break off what is in progress if cancelled."""
        helpers: list[asyncio.Task[None]] = []
        try:
            await self._start_first()
            helpers += [asyncio.create_task(self._collect()), asyncio.create_task(self._check())]
            for one in helpers:
                one.add_done_callback(lambda _: self._changed.set())
            while not (self._stopping and not self._workers and not self._missing):
                self._changed.clear()
                for one in helpers:
                    if one.done():
                        one.result()
                await self._changed.wait()
        finally:
            if self._adding is not None:
                helpers.append(self._adding)
            for one in helpers:
                one.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self._break_off()

    async def _start_first(self) -> None:
        """Start the workers that there are from the beginning.

        All of them count before the first one is there: it would get all domains, and keep them.
        """
        count = self._plan.size.least
        numbers = [await self._new_number() for _ in range(count)]
        for number, slots in zip(numbers, shares(self._plan.connections, count), strict=True):
            await self._start(number, slots)

    async def _new_number(self) -> int:
        """Return the number of a worker that counts from now on.

        A store that is away for a moment is waited for, as by all that is done with it.
        """
        give_up_at = self._services.clock() + PATIENCE_S
        while True:
            try:
                number = await self._plan.new_worker()
                break
            except CrawlError:
                if self._stopping or self._services.clock() >= give_up_at:
                    raise
            await asyncio.sleep(CHECK_EVERY_S)
        await self._store.join(number, self._services.clock())
        return number

    async def _start(self, number: int, slots: int) -> None:
        async with self._changing:
            worker = WorkerClient(number, self._services)
            config = msgspec.structs.replace(self._plan.config, number=number, slots=slots)
            await worker.start(self._launcher, config, self._batch_done)
            self._workers[worker.pid] = worker
            if self._stopping:
                worker.stop()

    def _batch_done(self) -> None:
        self._on_news()
        self.wake()

    # -- who ends --------------------------------------------------------------------------------

    async def _collect(self) -> None:
        """See off the workers that end, and replace those that should not have."""
        while True:
            self._unseen.append(await self._launcher.next_end())
            while self._unseen:  # what all of them had is taken back before any successor starts
                await self._take_leave(self._unseen[0])
                self._unseen.extend(self._launcher.more_ends())
            while self._missing:
                count = len(self._workers) + len(self._missing)
                await self._start(self._missing[0], shares(self._plan.connections, count)[0])
                self._missing.popleft()
            self._on_news()
            self._changed.set()

    async def _take_leave(self, ended: ProcessEnded) -> None:
        """See off one that has ended; its successor counts from now on if it is missed."""
        async with self._changing:
            worker = self._workers[ended.pid]
            await self._see_off(worker)
            is_missed = worker.failure is None and await self._is_missed(ended)
            if is_missed:
                # The number counts again before anybody assigns URLs, as both calls go out
                # together: what killed or hung a worker must not go to those with other hosts.
                joining = self._store.join(worker.number, self._services.clock())
                await asyncio.gather(self._dismiss(worker, ended), joining)
                self._missing.append(worker.number)
            else:
                await self._dismiss(worker, ended)
            del self._workers[ended.pid]
            self._unseen.popleft()
        if worker.failure is not None:
            raise worker.failure
        if is_missed and not ended.was_orphaned:  # the launcher has told of those
            self._note_fall(worker, ended)

    async def _see_off(self, worker: WorkerClient) -> None:
        """Take in what it had sent before it ended."""
        await worker.see_off()
        self._reports = _sums([*self._reports, *worker.module_reports])
        worker.module_reports = ()

    async def _dismiss(self, worker: WorkerClient, ended: ProcessEnded) -> None:
        """Give everything that it had back to the store."""
        with suppress(CrawlError, TimeoutError):  # the store is away: leases run out by themselves
            now, within_s = self._services.clock(), DISMISS_WITHIN_S if self._stopping else None
            async with asyncio.timeout(within_s):
                await self._store.dismiss(worker.number, ended.in_hand, now, ended.received)

    async def _is_missed(self, ended: ProcessEnded) -> bool:
        """Tell whether another worker has to take its place."""
        if self._plan.is_over():
            return False
        if self._stopping:
            # It may have been about to tell the modules of shorter paths.
            return ended.code != 0 and bool(await self._store.pending_depth_changes(1))
        return ended.code != 0 or await self._store.ended_by() is None

    def _note_fall(self, worker: WorkerClient, ended: ProcessEnded) -> None:
        """Tell that a worker has died; a CrawlError if they keep dying for no page's fault."""
        how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
        lived_s = self._services.clock() - worker.started
        is_own_fault = not ended.in_hand and lived_s < SOON_S
        self._falls = self._falls + 1 if is_own_fault else 0
        if self._falls > MOST_FALLS:
            raise CrawlError(f"the workers keep dying, the last one with {how}: see what it said")
        verb = "died" if ended.code else "left"
        words = f"worker {worker.number} {verb} ({how}) and is replaced"
        self._services.listener.say("warning", words)

    async def _break_off(self) -> None:
        """Have whoever is left give back what is in progress; end who takes too long for that."""
        for worker in self._workers.values():
            worker.leave()
        loop = asyncio.get_running_loop()
        killing = loop.call_later(LEAVE_WITHIN_S, self._kill_all)
        give_up_at = loop.time() + LEAVE_WITHIN_S + DISMISS_WITHIN_S
        try:
            while self._workers:
                unseen = self._unseen
                ended = unseen.popleft() if unseen else await self._launcher.next_end()
                if ended.pid in self._workers:  # else it was never ours: we were interrupted
                    worker = self._workers.pop(ended.pid)
                    with suppress(CrawlError, TimeoutError):
                        await self._see_off(worker)
                        async with asyncio.timeout_at(give_up_at):
                            await self._dismiss(worker, ended)
        except CrawlError:  # there is no launcher any more, and nobody whom it had started
            self._workers.clear()
        finally:
            killing.cancel()

    def _kill_all(self) -> None:
        for pid in self._workers:
            self._launcher.kill(pid)

    # -- who is too many, and who too few --------------------------------------------------------

    async def _check(self) -> None:
        """End workers that are silent, and add one where that helps."""
        now = self._services.clock()
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            before, now = now, self._services.clock()
            self._end_silent(now, stood_still_s=now - before - CHECK_EVERY_S)
            if self._adding is not None and self._adding.done():
                self._adding.result()
                self._adding = None
            if self._adding is None and await self._wants_more(now):
                self._adding = asyncio.create_task(self._add())

    def _end_silent(self, now: float, *, stood_still_s: float) -> None:
        """End workers that were not heard of for too long, while we could have heard of them."""
        for worker in self._workers.values():
            worker.heard_at += max(0.0, stood_still_s)
            if now - worker.heard_at > self._plan.silence_s:
                worker.heard_at = now
                words = f"worker {worker.number} was silent for {self._plan.silence_s:g} s: ended"
                self._services.listener.say("warning", words)
                self._launcher.kill(worker.pid)

    async def _wants_more(self, now: float) -> bool:
        if self._stopping or now < self._add_at:
            return False
        busy = [worker.busy for worker in self._workers.values()]
        count = len(busy) + len(self._missing)
        if count >= self._plan.size.most or not await self._is_under_way(now):
            return False
        return self._plan.size.wants_more(busy, await self._store.ready_hosts(now))

    async def _is_under_way(self, now: float) -> bool:
        """Tell whether the first URL is finished: until then all wait for the first worker."""
        if not self._has_begun:
            self._has_begun = (await self._store.snapshot(now)).finished > 0
        return self._has_begun

    async def _add(self) -> None:
        """Start one more worker, when the others have made room for its requests."""
        count = len(self._workers) + len(self._missing) + 1
        *others, own = shares(self._plan.connections, count)
        there = list(self._workers.values())
        await asyncio.gather(
            *(worker.set_slots(slots) for worker, slots in zip(there, others, strict=False))
        )
        if not self._stopping:
            await self._start(await self._new_number(), own)
            self._add_at = self._services.clock() + ADD_EVERY_S


def _sums(reports: list[ModuleReport]) -> list[ModuleReport]:
    """Return one report for each module, in their order."""
    found: dict[str, ModuleReport] = {}
    for one in reports:
        whole = found.setdefault(one.name, ModuleReport(name=one.name))
        for figure in SUMMED_COUNTS:
            setattr(whole, figure, getattr(whole, figure) + getattr(one, figure))
        whole.bad_end = one.bad_end or whole.bad_end
        whole.last_error = one.last_error or whole.last_error
    return list(found.values())
