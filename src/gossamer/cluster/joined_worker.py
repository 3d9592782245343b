"""A worker that joins a shared crawl from anywhere: a process that is replaced when it dies."""

import asyncio
from collections.abc import Sequence

import msgspec

from gossamer.cluster.launcher import Launcher
from gossamer.cluster.membership import Membership
from gossamer.cluster.orders import order_for
from gossamer.cluster.staffing import Staffing, cores
from gossamer.cluster.worker_handle import Listener, WorkerServices
from gossamer.cluster.workforce import Workforce, WorkforcePlan
from gossamer.modules import Module, ModuleContext, ModuleReport, ModuleRunner
from gossamer.modules.remote import ServedModules
from gossamer.plan import steady_clock

CHECK_EVERY_S = 0.25


class JoinedWorker:
    """One worker of a shared crawl, and this process beside it, which replaces it."""

    def __init__(
        self,
        member: Membership,
        number: int,
        modules: Sequence[Module],
        listener: Listener,
        launcher: Launcher,
    ) -> None:
        self._member = member
        self._number: int | None = number
        self._context = ModuleContext(
            directory=member.plan.directory,
            crawl=member.plan.name,
            identity=member.identity,
            worker=number,
            shared=True,
        )
        in_here = [one for one in modules if one.in_coordinator]
        in_worker = [one for one in modules if not one.in_coordinator]
        self._runner = ModuleRunner(in_here)
        clock = steady_clock()
        options = member.plan.options
        order = order_for(
            member.plan,
            in_worker,
            clock,
            store=options.store,
            coordinator_hooks=self._runner.hooks if in_here else None,
        )
        order = msgspec.structs.replace(order, identity=member.identity)
        workers = cores() if options.workers is None else max(1, options.workers)
        plan = WorkforcePlan(
            order=order,
            staffing=Staffing(1, 1),
            connections=max(1, options.connections // workers),
            new_worker=self._next_number,
        )
        services = WorkerServices(
            listener=listener,
            clock=clock,
            modules=ServedModules(self._runner) if in_here else None,
            max_body_bytes=options.max_body_bytes,
        )
        self._workforce = Workforce(launcher, member.store, plan, services, lambda: None)
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Finish what is in progress and leave."""
        self._stopped.set()

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules, in this process and in the worker's."""
        return [*self._workforce.report(), *self._runner.report()]

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        await self._runner.open(self._context)
        work = asyncio.create_task(self._workforce.run())
        stopped = asyncio.create_task(self._stopped.wait())
        ended_by = None
        try:
            while not work.done() and not stopped.done() and ended_by is None:
                ended_by = await self._member.store.ended_by()
                await asyncio.wait(
                    [work, stopped], timeout=CHECK_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                )
            self._workforce.stop()
            await work
        finally:
            for one in (work, stopped):
                one.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)
            await self._runner.close()
        return ended_by or "interrupted"

    async def _next_number(self) -> int:
        """Return the number of this worker; one that replaces it gets a new one."""
        number, self._number = self._number, None
        return await self._member.notes.new_worker() if number is None else number
