"""A crawl at work: frontier and workers as tasks of this process, until the end or a stop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count

from gossamer.frontier.frontier import Frontier
from gossamer.frontier.queues import Draw
from gossamer.frontier.scorers import Scorer
from gossamer.stores.contract import Store
from gossamer.worker.loop import Worker
from gossamer.worker.pipeline import WorkerContext

COMMIT_EVERY_S = 0.1
"""How often what was done becomes durable: a killed process may fetch this much again."""

REAP_EVERY_S = 5.0
TICK_EVERY_S = 1.0


class Engine:
    """Runs one crawl over an open store.

    `stop` lets the tasks in progress come to their end; cancelling `run` gives them back.
    """

    def __init__(  # noqa: PLR0913 -- what only some crawls have comes by name
        self,
        context: WorkerContext,
        scorer: Scorer,
        draw: Draw,
        slots: Sequence[int],
        on_tick: Callable[[Store], Awaitable[None]],
        *,
        url_queue: int = 10_000,
        numbers: Iterable[int] | None = None,
        poll_s: float | None = None,
    ) -> None:
        """Prepare workers with so many slots each, and with these numbers; 0, 1, 2 … by default.

        Where other processes work on the crawl as well, what they have left to do is polled for.
        """
        self._context = context
        self._workers = [
            Worker(number, context, n, self._settled)
            for number, n in zip(count() if numbers is None else numbers, slots, strict=False)
        ]
        self._poll_s = poll_s
        self._frontier = Frontier(
            context.store, scorer, draw, context.clock, self._assigned, url_queue
        )
        self._on_tick = on_tick
        self._news = asyncio.Event()
        self._stopped = False

    def stop(self) -> None:
        """Begin nothing more; what is in progress comes to its end."""
        self._stopped = True
        self._news.set()

    async def run(self) -> str:
        """Crawl; return what ended it: `complete`, `max-pages`, `max-bytes` or `interrupted`."""
        store, clock = self._context.store, self._context.clock
        for worker in self._workers:
            await store.join(worker.number, clock())
        helpers = [
            asyncio.create_task(one)
            for one in (self._frontier.run(), self._keep_durable(), self._reap(), self._tick())
        ]
        if self._poll_s is not None:
            helpers.append(asyncio.create_task(self._poll(self._poll_s)))
        workers = [asyncio.create_task(worker.run()) for worker in self._workers]
        watched = [*helpers, *workers]
        for one in watched:
            one.add_done_callback(lambda _: self._news.set())
        try:
            ended_by = await self._end(watched)
            for worker in self._workers:
                worker.stop()
            await asyncio.gather(*workers)
            # What was in progress when it was stopped may have been the last.
            return await store.ended_by() or ended_by
        finally:
            for one in watched:
                one.cancel()
            await asyncio.gather(*watched, return_exceptions=True)

    async def _end(self, watched: Sequence["asyncio.Task[None]"]) -> str:
        """Wait for the end; whatever breaks in between is raised here."""
        while True:
            for one in watched:
                if one.done():
                    one.result()
            if self._stopped:
                return "interrupted"
            ended_by = await self._context.store.ended_by()
            if ended_by is not None:
                return ended_by
            self._news.clear()
            await self._news.wait()

    def _settled(self) -> None:
        self._frontier.wake()
        self._news.set()
        for worker in self._workers:
            if worker.starved:
                worker.wake()

    def _assigned(self) -> None:
        for worker in self._workers:
            worker.wake()

    async def _keep_durable(self) -> None:
        while True:
            await asyncio.sleep(COMMIT_EVERY_S)
            await self._context.store.commit()

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(REAP_EVERY_S)
            if await self._context.store.reap(self._context.clock()):
                self._frontier.wake()

    async def _poll(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            self._frontier.wake()
            self._assigned()
            self._news.set()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_EVERY_S)
            await self._on_tick(self._context.store)
