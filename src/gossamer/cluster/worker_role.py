"""A worker, with what is to be done before and after it."""

from gossamer.worker.context import WorkerContext
from gossamer.worker.hooks import report_pending_depths
from gossamer.worker.loop import Worker


class WorkerRole:
    """A worker that works until it is told to stop."""

    def __init__(self, number: int, context: WorkerContext, slots: int) -> None:
        self._context = context
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
        """Work until stopped."""
        store, modules = self._context.store, self._context.modules
        await report_pending_depths(store, modules)
        await self._worker.run()
        await report_pending_depths(store, modules)  # that came to light elsewhere
