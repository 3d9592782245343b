"""The end of a task: settled or given back, and told to modules and whoever watches."""

import msgspec

from gossamer.content import Sketch
from gossamer.frontier.contract import Settled, Settlement
from gossamer.frontier.host_feedback import HostFeedback
from gossamer.model import Receipt
from gossamer.worker.context import WorkerContext
from gossamer.worker.hooks import end_of
from gossamer.worker.lease_guard import LeaseGuard
from gossamer.worker.telling import tell_end


class Settler:
    """Records in the store what came of tasks."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    async def settle(self, guard: LeaseGuard, settlement: Settlement) -> Settled:
        """Record what came of a task, and tell whoever watches; modules hear of no sitemap."""
        context = self._context
        is_end = not settlement.retry and not settlement.task.sitemap_of
        if is_end and context.modules.hooks.ends:
            guard.is_delivering = True
            more = await context.modules.finished(end_of(settlement))
            if more.given is not None:
                records = [*(settlement.records or ()), *more.given]
                settlement = msgspec.structs.replace(settlement, records=records)
        settlement = self._completed(guard, settlement)
        guard.begin_settling()
        settled = await context.store.settle(settlement, context.clock())
        if context.watch is not None and settled.accepted and settlement.page is None:
            tell_end(context.watch, settlement, settled)
        return settled

    async def keep(
        self, guard: LeaseGuard, settlement: Settlement, sketch: Sketch | None
    ) -> Settled:
        """Record a page that nobody has to see under its number: it claims that in one call."""
        settlement = self._completed(guard, settlement)
        guard.begin_settling(is_over=False)  # it may have to be compared with others first
        settled = await self._context.store.keep(settlement, sketch, self._context.clock())
        guard.is_settling = False
        return settled

    async def release(
        self, guard: LeaseGuard, feedback: HostFeedback | None, *, short: bool = False
    ) -> None:
        """Give a task back undone; `short`: what it was allowed to receive was too little."""
        # If others have a part of the budget, there may be enough of it the next time.
        receipt = Receipt(guard.allowance.received, short and guard.task.is_last)
        store, now = self._context.store, self._context.clock()
        await store.release(guard.task, feedback, now, receipt)

    def _completed(self, guard: LeaseGuard, settlement: Settlement) -> Settlement:
        """Tell with each visit what was received, and which pause its host asked for.

        A store may forget that pause. Why the host failed is remembered here.
        """
        self._context.failures.note(settlement)
        received, feedback = guard.allowance.received, settlement.feedback
        delay_s = self._context.robots.known_delay_s(settlement.task.url)
        if feedback is not None and delay_s is not None and feedback.crawl_delay_s is None:
            feedback = msgspec.structs.replace(feedback, crawl_delay_s=delay_s)
        return msgspec.structs.replace(settlement, received=received, feedback=feedback)
