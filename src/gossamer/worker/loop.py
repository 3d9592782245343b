"""A worker: leases tasks as its hosts allow, works on many at a time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from gossamer.frontier.contract import HostFeedback, ReturnedTask, Settled, Task
from gossamer.worker.context import WorkerContext
from gossamer.worker.in_flight import LeaseGuard, UnansweredSettlements, still_held
from gossamer.worker.pipeline import Pipeline

RENEWALS = 4
"""How often a lease is renewed in the time that it holds."""


class Worker:
    """Takes tasks from the frontier until it is stopped.

    `wake` is to be called when there may be something new for it; it checks by itself when one of
    its tasks ends and when the next of its hosts may be asked.
    """

    def __init__(
        self, number: int, context: WorkerContext, slots: int, on_settled: Callable[[], None]
    ) -> None:
        self.number = number
        self._context = context
        self._slots = slots
        self._pipeline = Pipeline(context)
        self._on_settled = on_settled
        self._tasks: dict[asyncio.Task[Settled | None], LeaseGuard] = {}
        self._unanswered = UnansweredSettlements()
        self._news = asyncio.Event()
        self._changed = asyncio.Event()
        """Set when a task or a helper has ended."""
        self._stopping = False
        self._is_leaving = False
        self._error: BaseException | None = None
        """What broke us, rather than its page."""
        self._left: list[LeaseGuard] = []
        """What was broken off, to be given back."""
        self.starved = False
        """Whether it waits for others to return what they have set aside of the budgets."""

    def wake(self) -> None:
        """Check whether there is something to do."""
        self._news.set()

    def stop(self) -> None:
        """Take no more tasks; `run` returns when those in progress have ended."""
        self._stopping = True
        self._news.set()

    def leave(self) -> None:
        """Take no more tasks, and give back those in progress, but for pages at the modules.

        What those have seen is settled, or they would see it again.
        """
        self._is_leaving = True
        for work, guard in self._tasks.items():
            if not guard.is_delivering and not guard.is_settling:
                work.cancel()
        self.stop()

    async def set_slots(self, slots: int) -> None:
        """Change how many tasks it may have in progress; return when it has no more than that."""
        self._slots = slots
        self._news.set()
        while self._in_progress > slots:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    @property
    def _in_progress(self) -> int:
        """How many slots are in use."""
        return len(self._tasks) - self._unanswered.without_slot

    async def run(self) -> None:
        """Work until stopped; give back what is in progress if cancelled."""
        await self._context.store.join(self.number, self._context.clock())
        leasing, renewal = asyncio.create_task(self._lease()), asyncio.create_task(self._renew())
        for helper in (leasing, renewal):
            helper.add_done_callback(lambda _: self._changed.set())
        try:
            while not (leasing.done() and not self._tasks):
                self._changed.clear()
                await self._changed.wait()
                if self._error is not None and not self._is_leaving:
                    raise self._error
                for helper in (leasing, renewal):
                    if helper.done():
                        helper.result()
        finally:
            leasing.cancel()
            renewal.cancel()
            await asyncio.gather(leasing, renewal, return_exceptions=True)
            await self._give_back()

    async def _lease(self) -> None:
        """Take tasks until stopped."""
        while not self._stopping:
            self._news.clear()
            await self._wait(await self._fill())

    async def _fill(self) -> float | None:
        """Take what may be begun now; return when there will be more, as far as that is known."""
        store, clock, lease_s = self._context.store, self._context.clock, self._context.lease_s
        while not self._stopping and (free := self._slots - self._in_progress) > 0:
            now = clock()
            hooks = self._context.modules.hooks
            leased = await store.lease(self.number, free, now, hooks.pages or hooks.ends)
            if self._is_leaving:  # since we asked
                self._left += [self._guard(task, now) for task in leased.tasks]
                return None
            for task in await still_held(store, leased.tasks, now, clock, lease_s):
                self._begin(self._guard(task, now))
            if leased.tasks:
                self._on_settled()
            if len(leased.tasks) < free:  # that is all for now
                # A host that may be asked and is not handed out waits for a budget.
                self.starved = leased.wake_at is not None and leased.wake_at <= now
                return None if self.starved else leased.wake_at
        self.starved = False
        return None

    def _guard(self, task: Task, leased_at: float) -> LeaseGuard:
        context = self._context
        until = leased_at + context.lease_s
        return LeaseGuard(task, until, context.clock, context.in_flight.note.add_received)

    def _begin(self, guard: LeaseGuard) -> None:
        guard.unanswered, guard.on_settling = self._unanswered, self._news.set
        work = asyncio.create_task(self._pipeline.work(guard))
        self._tasks[work] = guard
        work.add_done_callback(self._ended)

    def _ended(self, work: "asyncio.Task[Settled | None]") -> None:
        guard = self._tasks.pop(work)
        guard.end_settling()
        if work.cancelled():
            self._left.append(guard)
        elif (error := work.exception()) is not None:
            self._left.append(guard)
            self._error = self._error or error
        else:
            guard.allowance.end()
        self._news.set()
        self._changed.set()
        self._on_settled()

    async def _wait(self, wake_at: float | None) -> None:
        """Wait for news, at most until then."""
        timeout = None if wake_at is None else max(0.0, wake_at - self._context.clock())
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._news.wait()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._context.lease_s / RENEWALS)
            store, now = self._context.store, self._context.clock()
            await store.join(self.number, now)
            guards = list(self._tasks.values())
            lost = await store.renew([guard.task for guard in guards], now)
            for guard in guards:
                if guard.task in lost:
                    guard.lose()
                else:
                    guard.extend(now + self._context.lease_s)

    async def _give_back(self) -> None:
        """Stop what is still in progress; its URLs wait again."""
        for work in self._tasks:
            work.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if isinstance(self._error, MemoryError):
            return  # a page was too much for us: it is taken back as that of a worker that died
        now = self._context.clock()
        for guard in self._left:
            # Its host may have been asked a moment ago: whoever goes on begins with a pause.
            feedback, returned = HostFeedback(ended=now), ReturnedTask(guard.allowance.received)
            await self._context.store.release(guard.task, feedback, now, returned)
            guard.allowance.end()
