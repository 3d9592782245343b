"""A worker as a process: it may join at any time, and leave."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from gossamer.control.clock import steady_clock
from gossamer.control.cluster.lookout import Lookout
from gossamer.control.cluster.membership import Membership
from gossamer.control.kit import Surroundings, open_kit
from gossamer.control.observer import Observer
from gossamer.modules import Module, ModuleContext, ModuleReport, ModuleRunner
from gossamer.worker.loop import Worker
from gossamer.worker.pipeline import tell_depths

END_EVERY_S = 0.25
"""How often it asks whether the crawl is over."""
SIGN_EVERY_S = 1.0
"""How often it says that it is alive, also when all of its places are in use."""


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
        """Finish what is in work and leave."""
        self._stopped = True
        if self._worker is not None:
            self._worker.stop()

    def report(self) -> list[ModuleReport]:
        """Return what the modules did."""
        return self._runner.report()

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        plan, store = self._member.plan, self._member.store
        async with AsyncExitStack() as stack:
            context = ModuleContext(
                directory=plan.directory, crawl=plan.name, worker=self._number, shared=True
            )
            own = Surroundings(
                runner=self._runner,
                clock=self._clock,
                observer=self._observer,
                lease_s=store.rules.desk.lease_s,
                alone=self._alone,
            )
            kit = await open_kit(plan, store, own, context, stack)
            if untold := await store.untold():
                await tell_depths(store, kit.modules, untold)
            places = max(1, plan.options.connections // max(1, plan.options.workers))
            self._worker = Worker(self._number, kit, places, lambda: None)
            if self._stopped:
                self._worker.stop()
            ended_by = await self._work(self._worker)
            if untold := await store.untold():  # shorter paths that came to light elsewhere
                await tell_depths(store, kit.modules, untold)
            return ended_by

    async def _work(self, worker: Worker) -> str:
        store = self._member.store
        working = asyncio.create_task(worker.run())
        ended_by = None
        ask_at = sign_at = 0.0
        begun, lookout = worker.begun, Lookout()
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
                pause_s = lookout.pause_s(found=worker.begun != begun)
                begun = worker.begun
                await asyncio.wait([working], timeout=pause_s)
            await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        return ended_by or "interrupted"
