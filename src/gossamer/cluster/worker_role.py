"""A worker as a process: it may join at any time, and leave."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from gossamer.cluster.membership import Membership
from gossamer.cluster.poll_interval import PollInterval
from gossamer.coordinator.clock import steady_clock
from gossamer.coordinator.context import ProcessContext, open_worker_context
from gossamer.coordinator.observer import Observer
from gossamer.modules import Module, ModuleContext, ModuleRunner
from gossamer.worker.loop import Worker
from gossamer.worker.pipeline import WorkerContext, report_depths

END_EVERY_S = 0.25
"""How often it asks whether the crawl is over."""
SIGN_EVERY_S = 1.0
"""How often it says that it is alive, also when all of its slots are in use."""


class WorkerRole:
    """Works on a shared crawl until it is over, or until it is told to leave."""

    def __init__(
        self,
        member: Membership,
        number: int,
        modules: Sequence[Module],
        observer: Observer,
        *,
        alone: bool = False,
    ) -> None:
        self._member = member
        self._number = number
        self._runner = ModuleRunner(modules)
        self._observer = observer
        self._alone = alone
        self._clock = steady_clock()
        self._stopped = False
        self._worker: Worker | None = None

    def stop(self) -> None:
        """Finish what is in progress and leave."""
        self._stopped = True
        if self._worker is not None:
            self._worker.stop()

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        plan, store = self._member.plan, self._member.store
        async with AsyncExitStack() as stack:
            module_context = ModuleContext(
                directory=plan.directory, crawl=plan.name, worker=self._number, shared=True
            )
            own = ProcessContext(
                runner=self._runner,
                clock=self._clock,
                observer=self._observer,
                lease_s=store.rules.scheduler.lease_s,
                alone=self._alone,
            )
            context = await open_worker_context(plan, store, own, module_context, stack)
            await self._report_depths(context)
            slots = max(1, plan.options.connections // max(1, plan.options.workers))
            self._worker = Worker(self._number, context, slots, lambda: None)
            if self._stopped:
                self._worker.stop()
            ended_by = await self._work(self._worker)
            await self._report_depths(context)  # shorter paths that came to light elsewhere
            return ended_by

    async def _report_depths(self, context: WorkerContext) -> None:
        if pending_depth_changes := await context.store.pending_depth_changes():
            await report_depths(context.store, context.modules, pending_depth_changes)

    async def _work(self, worker: Worker) -> str:
        store = self._member.store
        working = asyncio.create_task(worker.run())
        ended_by = None
        ask_at = sign_at = 0.0
        begun, poll_interval = worker.begun, PollInterval()
        try:
            while not working.done():
                worker.wake()
                now = self._clock()
                if now >= ask_at and ended_by is None:
                    ended_by = await store.ended_by()
                    ask_at = now + END_EVERY_S
                    if ended_by is not None:
                        worker.stop()
                if now >= sign_at:
                    await store.join(worker.number, now)
                    sign_at = now + SIGN_EVERY_S
                pause_s = poll_interval.pause_s(found=worker.begun != begun)
                begun = worker.begun
                await asyncio.wait([working], timeout=pause_s)
            await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        return ended_by or "interrupted"
