"""The worker processes of a command on this machine: started, watched, replaced, and seen off.

`WorkerPool` decides how many there are and what becomes of the dead. `WorkerClient` is one worker
as this process has it: its channel, its session with the frontier, and what it tells.
"""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from gossamer.channel import Channel, ChannelClosedError, Served
from gossamer.channel.channel import ERRORS, MAX_MESSAGE, methods_of
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.launcher_process import ProcessEnded
from gossamer.coordinator.processes.worker_channel import (
    CONTRACTS,
    CONTROL,
    FEED,
    StreamName,
    WorkerConfig,
    print_here,
)
from gossamer.frontier.contract import FRONTIER, FrontierClient
from gossamer.frontier.service import Frontier
from gossamer.frontier.session import WorkerSession
from gossamer.model import Event, Level
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.modules.module_stats import SUMMED_COUNTS, ModuleReport
from gossamer.modules.remote import PAGE_MODULES, ServedModules
from gossamer.stores.crawl_views import WorkerReport
from gossamer.stores.rows import PATIENCE_S

CHECK_EVERY_S = 0.05
ADD_EVERY_S = 0.3
"""The pause after a worker was added: it has to show what it can do."""
BUSY = 0.6
"""A worker that wants a core for this share of the time has as much to do as it can do."""
MOST_FALLS = 5
"""How often in a row workers may die soon after their start, without a page in hand."""
SOON_S = 20.0
"""A worker that has lived longer was in good health, and is replaced as often as it dies."""
LEAVE_WITHIN_S = 2.0
"""How long workers may take to give back what is in progress when the crawl is broken off."""
DISMISS_WITHIN_S = 1.0
"""How long the store may then take to hear of them: it may be away, and their leases run out."""
CLOSES_WITHIN_S = 2.0
"""How long after the end of a process what it had sent may take to arrive."""
SILENCE_SHARE, LEAST_SILENCE_S = 0.8, 5.0
"""How long a worker may be silent, as a share of a lease: it ends before others have its URLs."""


class Listener(Protocol):
    """Shows what workers say."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Take a message."""


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


class PoolPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of a worker pool: what workers do, how many there are, whom they reach."""

    config: WorkerConfig
    """The configuration of every worker; each gets its own number and slots."""
    size: Autoscale
    connections: int
    """How many requests all of them together may have under way."""
    max_body_bytes: int
    """A page or a file travels compressed to the store, and as it is to the modules."""
    new_worker: Callable[[], Awaitable[int]]
    """Returns a number that no other worker has."""
    is_over: Callable[[], bool] = lambda: False
    """Tells whether the crawl is over, where the frontier is not asked any more."""
    listener: Listener
    clock: Callable[[], float]
    frontier: Frontier | None = None
    """The frontier, where workers reach it through this process only."""
    outlives: bool = False
    """Whether another process may take over that frontier while the workers live."""
    modules: ServedModules | None = None
    """The modules of this process, if it has any."""
    lock: int | None = None
    """The descriptor of a lock that a worker keeps until it ends."""


class WorkerPool:
    """The workers of a crawl as processes.

    One that dies is replaced by one with the same number, and so is one that is silent for too
    long: a page that hangs its worker costs it its life, like one that crashes it. What the dead
    had is taken back at once, and `dismiss` tells the store which pages they had in hand.
    """

    def __init__(
        self,
        launcher: Launcher,
        store: FrontierClient,
        plan: PoolPlan,
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; `on_news` is called when workers have told the store something."""
        self._launcher = launcher
        self._store = store
        self._plan = plan
        self._clock = plan.clock
        self._on_news = on_news
        self._workers: dict[int, WorkerClient] = {}
        self._reports: list[ModuleReport] = []
        """The counts of the modules in workers that have ended."""
        self._changing = asyncio.Lock()
        """Held while the set of workers changes."""
        self._unseen: deque[ProcessEnded] = deque()
        """The workers that have ended and whose leases are not taken back yet."""
        self._missing: deque[int] = deque()
        """The numbers of the dead whose successors count already, and are still to be started."""
        self._adding: asyncio.Task[None] | None = None
        self._add_at = 0.0
        self._has_begun = False
        self._falls = 0
        self._stopping = False
        self._changed = asyncio.Event()

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
        living = [report for worker in self._workers.values() for report in worker.module_reports]
        return _sums([*self._reports, *living])

    async def run(self) -> None:
        """Work until stopped; break off what is in progress if cancelled."""
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._start_first()
            tasks += [asyncio.create_task(self._collect()), asyncio.create_task(self._check())]
            for task in tasks:
                task.add_done_callback(lambda _: self._changed.set())
            while not (self._stopping and not self._workers and not self._missing):
                self._changed.clear()
                for task in tasks:
                    if task.done():
                        task.result()
                await self._changed.wait()
        finally:
            if self._adding is not None:
                tasks.append(self._adding)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
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
        give_up_at = self._clock() + PATIENCE_S
        while True:
            try:
                number = await self._plan.new_worker()
                break
            except CrawlError:
                if self._stopping or self._clock() >= give_up_at:
                    raise
            await asyncio.sleep(CHECK_EVERY_S)
        await self._store.join(number, self._clock())
        return number

    async def _start(self, number: int, slots: int) -> None:
        async with self._changing:
            worker = WorkerClient(number, self._plan)
            await worker.start(self._launcher, slots, self._batch_done)
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
                joining = self._store.join(worker.number, self._clock())
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

    async def _see_off(self, worker: "WorkerClient") -> None:
        """Take in what it had sent before it ended."""
        await worker.see_off()
        self._reports = _sums([*self._reports, *worker.module_reports])
        worker.module_reports = ()

    async def _dismiss(self, worker: "WorkerClient", ended: ProcessEnded) -> None:
        """Give everything that it had back to the store."""
        with suppress(CrawlError, TimeoutError):  # the store is away: leases run out by themselves
            now, within_s = self._clock(), DISMISS_WITHIN_S if self._stopping else None
            async with asyncio.timeout(within_s):
                await self._store.dismiss(worker.number, ended.in_hand, now, ended.received)

    async def _is_missed(self, ended: ProcessEnded) -> bool:
        """Tell whether another worker has to take its place."""
        if self._stopping or self._plan.is_over():
            return False
        return ended.code != 0 or await self._store.ended_by() is None

    def _note_fall(self, worker: "WorkerClient", ended: ProcessEnded) -> None:
        """Tell that a worker has died; a CrawlError if they keep dying for no page's fault."""
        how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
        is_own_fault = not ended.in_hand and self._clock() - worker.started < SOON_S
        self._falls = self._falls + 1 if is_own_fault else 0
        if self._falls > MOST_FALLS:
            raise CrawlError(f"the workers keep dying, the last one with {how}: see what it said")
        verb = "died" if ended.code else "left"
        message = f"worker {worker.number} {verb} ({how}) and is replaced"
        self._plan.listener.say("warning", message)

    async def _break_off(self) -> None:
        """Have those that are left give back what is in progress; end those that take too long."""
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
        now = self._clock()
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            before, now = now, self._clock()
            self._end_silent(now, stood_still_s=now - before - CHECK_EVERY_S)
            if self._adding is not None and self._adding.done():
                self._adding.result()
                self._adding = None
            if self._adding is None and await self._wants_more(now):
                self._adding = asyncio.create_task(self._add())

    def _end_silent(self, now: float, *, stood_still_s: float) -> None:
        """End workers that were not heard of for too long, while we could have heard of them."""
        limit_s = max(LEAST_SILENCE_S, SILENCE_SHARE * self._plan.config.lease_s)
        for worker in self._workers.values():
            worker.heard_at += max(0.0, stood_still_s)
            if now - worker.heard_at > limit_s:
                worker.heard_at = now
                message = f"worker {worker.number} was silent for {limit_s:g} s: ended"
                self._plan.listener.say("warning", message)
                self._launcher.kill(worker.pid)

    async def _wants_more(self, now: float) -> bool:
        if self._stopping or now < self._add_at:
            return False
        busy = [worker.busy for worker in self._workers.values()]
        if len(busy) + len(self._missing) >= self._plan.size.most:
            return False
        if not self._has_begun:  # until the first URL is finished all wait for the first worker
            self._has_begun = (await self._store.snapshot(now)).finished > 0
        if not self._has_begun:
            return False
        return self._plan.size.wants_more(busy, await self._store.ready_hosts(now))

    async def _add(self) -> None:
        """Start one more worker, when the others have made room for its requests."""
        count = len(self._workers) + len(self._missing) + 1
        *others, new_slots = shares(self._plan.connections, count)
        workers = zip(list(self._workers.values()), others, strict=False)
        await asyncio.gather(*(worker.set_slots(slots) for worker, slots in workers))
        if not self._stopping:
            await self._start(await self._new_number(), new_slots)
            self._add_at = self._clock() + ADD_EVERY_S


def _sums(reports: list[ModuleReport]) -> list[ModuleReport]:
    """Return one report for each module, in their order."""
    sums: dict[str, ModuleReport] = {}
    for report in reports:
        whole = sums.setdefault(report.name, ModuleReport(name=report.name))
        for figure in SUMMED_COUNTS:
            setattr(whole, figure, getattr(whole, figure) + getattr(report, figure))
        whole.bad_end = report.bad_end or whole.bad_end
        whole.last_error = report.last_error or whole.last_error
    return list(sums.values())


class WorkerClient:
    """One worker process, and what it finds at this end of its channel."""

    def __init__(self, number: int, plan: PoolPlan) -> None:
        self.number = number
        self.pid = 0
        self.started = self.heard_at = plan.clock()
        """When it was started, and when it was last heard of."""
        self.busy = 1.0
        """How busy it was lately (`WorkerReport`); until it tells, it has enough to do."""
        self.module_reports: Sequence[ModuleReport] = ()
        self.failure: GossamerError | None = None
        """Why it says that the crawl cannot go on."""
        self._plan = plan
        self._session = None
        if plan.frontier is not None:
            self._session = WorkerSession(plan.frontier, plan.clock, outlives=plan.outlives)
        self._channel: Channel | None = None

    async def start(self, launcher: Launcher, slots: int, on_batch: Callable[[], None]) -> None:
        """Start the process, and tell it what to do."""
        self.pid, end = await launcher.start(self._plan.lock)
        self.started = self.heard_at = self._plan.clock()  # a launcher may have to load first
        served = [Served(contract=FEED, target=methods_of(FEED, self))]
        if self._session is not None:
            served.append(self._session.serve(FRONTIER))
        if (modules := self._plan.modules) is not None:
            target = methods_of(PAGE_MODULES, modules)
            served.append(Served(contract=PAGE_MODULES, target=target, at_once=None))
        max_message = MAX_MESSAGE + 2 * self._plan.max_body_bytes
        self._channel = await Channel.open(
            end, CONTRACTS, served, max_message=max_message, on_batch=on_batch
        )
        config = msgspec.structs.replace(self._plan.config, number=self.number, slots=slots)
        self._channel.notify(CONTROL.methods["begin"], config)

    def wake(self) -> None:
        """Let it have what there may be for it now."""
        if self._session is not None:
            self._session.wake()

    def stop(self) -> None:
        """Have it finish what is in progress, and end."""
        self._end("stop")

    def leave(self) -> None:
        """Have it give back what is in progress, and end."""
        self._end("leave")

    def _end(self, method: str) -> None:
        if self._session is not None:
            self._session.stop()
        if self._channel is not None:
            self._channel.notify(CONTROL.methods[method])

    async def set_slots(self, slots: int) -> None:
        """Have it use at most so many slots; return when it does, or is gone."""
        if self._channel is not None:
            with suppress(ChannelClosedError):
                await CONTROL.proxy(self._channel).set_slots(slots)

    async def see_off(self) -> None:
        """Take in what a process that has ended had sent; raise what went wrong at this end."""
        if self._channel is not None:
            await asyncio.wait([self._channel.closed], timeout=CLOSES_WITHIN_S)
            self._channel.abort()  # a process that a module has forked may keep it open
            await asyncio.wait([self._channel.closed])
            self._channel.closed.result()
        if self._session is not None:
            await self._session.take_back()

    # -- what it tells (`WorkerFeed`) ------------------------------------------------------------

    async def heartbeat(self, report: WorkerReport, modules: list[ModuleReport]) -> None:
        """Note that it is alive, and how it is."""
        self.heard_at = self._plan.clock()
        self.busy = report.busy
        self.module_reports = modules

    async def events(self, events: list[Event]) -> None:
        """Show steps of the crawl."""
        for event in events:
            self._plan.listener.event(event)

    async def say(self, level: Level, message: str, fields: dict[str, str]) -> None:
        """Show a message."""
        self._plan.listener.say(level, message, **fields)

    async def output(self, stream: StreamName, text: str) -> None:
        """Print what it printed."""
        print_here(stream, text)

    async def failed(self, kind: str, message: str) -> None:
        """Note why the crawl cannot go on."""
        self.failure = ERRORS.get(kind, CrawlError)(message)
