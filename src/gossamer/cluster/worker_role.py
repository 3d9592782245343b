"""A worker on whatever store: it works until the crawl is over, or until it is told to stop."""

import asyncio

from gossamer.cluster.poll_interval import PollInterval
from gossamer.worker.context import WorkerContext
from gossamer.worker.hooks import report_pending_depths
from gossamer.worker.loop import Worker

END_EVERY_S = 0.25
"""How often a shared store is asked whether the crawl is over."""


class WorkerRole:
    """A worker, with what is to be done before and after it.

    A shared store tells nobody when there is something new: it is polled.
    """

    def __init__(self, number: int, context: WorkerContext, slots: int, *, polls: bool) -> None:
        self._context = context
        self._polls = polls
        self._worker = Worker(number, context, slots, lambda: None)

    def stop(self) -> None:
        """Finish what is in progress and leave."""
        self._worker.stop()

    def leave(self) -> None:
        """Give back what is in progress and leave."""
        self._worker.leave()

    async def set_slots(self, slots: int) -> None:
        """Have at most so many requests under way; return when there are no more."""
        await self._worker.set_slots(slots)

    async def run(self) -> None:
        """Work until the end of the crawl, or until stopped."""
        store, modules = self._context.store, self._context.modules
        await report_pending_depths(store, modules)
        if self._polls:
            await self._work_polling()
        else:
            await self._worker.run()
        await report_pending_depths(store, modules)  # that came to light elsewhere

    async def _work_polling(self) -> None:
        worker, clock = self._worker, self._context.clock
        working = asyncio.create_task(worker.run())
        ask_at, begun, poll_interval = 0.0, worker.begun, PollInterval()
        try:
            while not working.done():
                worker.wake()
                if clock() >= ask_at:
                    if await self._context.store.ended_by() is not None:
                        worker.stop()
                    ask_at = clock() + END_EVERY_S
                pause_s = poll_interval.pause_s(found=worker.begun != begun)
                begun = worker.begun
                await asyncio.wait([working], timeout=pause_s)
            await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
