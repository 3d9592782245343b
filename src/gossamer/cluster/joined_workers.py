"""Workers that join a shared crawl from anywhere: processes that are replaced when they die."""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Self

import msgspec

from gossamer.cluster.launcher import Launcher
from gossamer.cluster.membership import Membership
from gossamer.cluster.orders import order_for
from gossamer.cluster.staffing import Staffing, cores
from gossamer.cluster.worker_handle import Listener, WorkerServices
from gossamer.cluster.workforce import Workforce, WorkforcePlan
from gossamer.config import CrawlOptions
from gossamer.errors import UsageError
from gossamer.modules import Module, ModuleContext, ModuleReport, ModuleRunner
from gossamer.modules.remote import ServedModules
from gossamer.plan import steady_clock

CHECK_EVERY_S = 0.25


class JoinPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How many workers a command has that joins, and how many requests they may have under way."""

    staffing: Staffing
    connections: int
    numbers: tuple[int, ...] = ()
    """Those of the workers that there are from the beginning."""

    @property
    def name(self) -> str:
        """What these workers are called."""
        numbers = ", ".join(map(str, self.numbers))
        if self.staffing.most == 1:
            return f"worker {numbers}"
        return f"workers {numbers}{' …' * (self.staffing.least < self.staffing.most)}"

    @classmethod
    def of(cls, workers: int | None, options: CrawlOptions) -> Self:
        """Return it for the command's own option and the options of the crawl.

        Each worker has as many connections as one of the crawl's own, and all of them together
        never more than a crawl may have; a UsageError if that is not one for each.
        """
        own = cores() if options.workers is None else max(1, options.workers)
        most = cores() if workers is None else workers
        connections = max(1, options.connections * min(most, own) // own)
        if workers is not None and connections < workers:
            raise UsageError(
                f"the {connections} connections that the crawl gives to a command cannot be shared "
                f"by {workers} workers, each of which needs one: give --workers {connections}"
            )
        return cls(staffing=Staffing.of(workers, connections), connections=connections)


class JoinedWorkers:
    """The workers of one command in a shared crawl, and this process, which replaces them."""

    def __init__(
        self,
        member: Membership,
        joining: JoinPlan,
        modules: Sequence[Module],
        listener: Listener,
        launcher: Launcher,
    ) -> None:
        self._member = member
        self._numbers = deque(joining.numbers)
        self._context = ModuleContext(
            directory=member.plan.directory,
            crawl=member.plan.name,
            identity=member.identity,
            worker=joining.numbers[0],
            shared=True,
        )
        launcher.say = partial(listener.say, "warning")
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
        plan = WorkforcePlan(
            order=order,
            staffing=joining.staffing,
            connections=joining.connections,
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
        """Return the counts of the modules, in this process and in the workers'."""
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
        """Return the number of one more worker."""
        return self._numbers.popleft() if self._numbers else await self._member.notes.new_worker()
