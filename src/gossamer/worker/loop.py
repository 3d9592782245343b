"""A worker: leases tasks as its hosts allow, works on many at a time."""

import asyncio
from collections.abc import Callable

from gossamer.stores.contract import Task
from gossamer.worker.pipeline import Kit, Pipeline

RENEW_EVERY_S = 30.0


class Worker:
    """Takes tasks from the store until it is stopped.

    `wake` is to be called when there may be something new for it; it looks by itself when one of
    its tasks ends and when the next of its hosts may be asked.
    """

    def __init__(self, number: int, kit: Kit, places: int, on_settled: Callable[[], None]) -> None:
        self.number = number
        self._kit = kit
        self._places = places
        self._pipeline = Pipeline(kit)
        self._on_settled = on_settled
        self._tasks: dict[asyncio.Task[None], Task] = {}
        self._news = asyncio.Event()
        self._stopping = False
        self.failure: BaseException | None = None

    def __repr__(self) -> str:
        return f"<Worker {self.number}: {len(self._tasks)} of {self._places} places in use>"

    def wake(self) -> None:
        """Have a look whether there is something to do."""
        self._news.set()

    def stop(self) -> None:
        """Take no more tasks; `run` returns when those in work have ended."""
        self._stopping = True
        self._news.set()

    async def run(self) -> None:
        """Work until stopped; give back what is in work if cancelled."""
        store, clock = self._kit.store, self._kit.clock
        await store.join(self.number, clock())
        renewal = asyncio.create_task(self._renew())
        try:
            while not (self._stopping and not self._tasks):
                self._news.clear()
                wake_at = None
                free = self._places - len(self._tasks)
                if free > 0 and not self._stopping:
                    leased = await store.lease(self.number, free, clock())
                    wake_at = leased.wake_at
                    for task in leased.tasks:
                        self._begin(task)
                    if leased.tasks:
                        self._on_settled()
                        continue
                await self._wait(wake_at)
                if self.failure is not None:
                    raise self.failure
        finally:
            renewal.cancel()
            await self._give_back()

    def _begin(self, task: Task) -> None:
        work = asyncio.create_task(self._work(task))
        self._tasks[work] = task
        work.add_done_callback(self._ended)

    async def _work(self, task: Task) -> None:
        await self._pipeline.work(task)

    def _ended(self, work: "asyncio.Task[None]") -> None:
        del self._tasks[work]
        if not work.cancelled() and (error := work.exception()) is not None:
            self.failure = error
        self._news.set()
        self._on_settled()

    async def _wait(self, wake_at: float | None) -> None:
        """Wait for news, at most until then."""
        timeout = None if wake_at is None else max(0.0, wake_at - self._kit.clock())
        try:
            async with asyncio.timeout(timeout):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            await self._kit.store.renew(list(self._tasks.values()), self._kit.clock())

    async def _give_back(self) -> None:
        """Stop what is still in work; its URLs wait again."""
        left = dict(self._tasks)
        for work in left:
            work.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for task in left.values():
            await self._kit.store.put_back(task, None, self._kit.clock())
