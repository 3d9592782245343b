"""Keeping a page: it claims its number, the modules see it, and it is settled with its links."""

from collections.abc import Sequence

import msgspec

from gossamer.content import Analysis
from gossamer.frontier.claim import Claim
from gossamer.frontier.contract import Link, Settled, Settlement, Task
from gossamer.frontier.host_feedback import HostFeedback
from gossamer.frontier.keeping import as_claimed
from gossamer.model import Cause, Event, EventKind, Outcome, Response
from gossamer.stores.bodies.reader import BodyReader
from gossamer.worker import settlements
from gossamer.worker.bodies import with_body_written
from gossamer.worker.comparison import read_own_contents
from gossamer.worker.context import WorkerContext
from gossamer.worker.hooks import offered, with_delivered
from gossamer.worker.large_pages import LargePages
from gossamer.worker.lease_guard import LeaseGuard, still_held
from gossamer.worker.pages import shown_page
from gossamer.worker.settler import Settler
from gossamer.worker.telling import tell_page


class PageKeeper:
    """Keeps the pages that repeat no other."""

    def __init__(self, context: WorkerContext, settler: Settler, large_pages: LargePages) -> None:
        self._context = context
        self._settler = settler
        self._large_pages = large_pages
        self._bodies = BodyReader(context.store.note)

    async def keep(
        self,
        guard: LeaseGuard,
        response: Response,
        parsed: Analysis,
        feedback: HostFeedback,
        links: Sequence[Link] | None,
    ) -> Settled | None:
        """Keep a page with its links, or settle it as a repetition; None: its lease is lost.

        If `links` is None, they are not to be followed.
        """
        context, task = self._context, guard.task
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            cause=Cause.NO_MARKERS if parsed.markers_missing else None,
            detail=settlements.words_about_links(parsed),
            status=response.status,
            size=len(response.body),
            page=await self._large_pages.kept(response, parsed, feedback.ended),
            links=links or (),
            feedback=feedback,
        )
        unread: tuple[int, ...] = ()
        hooks = context.modules.hooks
        if context.watch is None and not hooks.pages and not hooks.ends:  # nobody has to see it
            settlement = self._with_row(settlement, response, parsed)
            settlement = with_body_written(settlement, context.bodies)
            settled = await self._settler.keep(guard, settlement, parsed.sketch)
            if not settled.unread:
                return settled
            unread = settled.unread
        asked_at = context.clock()
        claim = await self._claim(task, response, parsed, unread)
        store, clock, lease_s = context.store, context.clock, context.lease_s
        if claim.lost or not await still_held(store, [task], asked_at, clock, lease_s):
            return None
        settlement = as_claimed(settlement, claim, similar_links=context.similar_links)
        if claim.page_id is None:
            settled = await self._settler.settle(guard, settlement)
            settled = msgspec.structs.replace(settled, repeats=claim.duplicate_of)
            has_links = claim.similarity is not None and context.similar_links
        else:
            settlement = await self._deliver(guard, settlement, claim, response, parsed)
            settled = await self._settler.settle(guard, settlement)
            has_links = True
        watch, link_filter, follow = context.watch, context.link_filter, links is not None
        if watch is not None and has_links and task.depth != context.max_depth:
            tell_page(watch, settlement, parsed, link_filter, settled, follow=follow)
        return settled

    def _with_row(self, settlement: Settlement, response: Response, parsed: Analysis) -> Settlement:
        """Return the settlement of a page without a number yet, with what outputs want of it."""
        rows, page = self._context.rows, settlement.page
        if not rows.are_wanted or page is None:
            return settlement
        shown = shown_page(
            *(Claim(page_id=0), settlement.task, response, parsed, page.fetched_at),
            with_links=rows.have_links,
        )
        return msgspec.structs.replace(settlement, row=rows.pack(shown, parsed))

    async def _claim(
        self, task: Task, response: Response, parsed: Analysis, unread: tuple[int, ...]
    ) -> Claim:
        """Claim a number for the page; one that looks similar to others is compared with them."""
        store, clock = self._context.store, self._context.clock
        if not unread:
            claim = await store.claim(task, parsed.digest, parsed.sketch, clock())
            if not claim.unread:
                return claim
            unread = claim.unread
        own = await read_own_contents(store, self._bodies, self._large_pages, response, unread)
        return await store.claim(task, parsed.digest, parsed.sketch, clock(), own)

    async def _deliver(
        self,
        guard: LeaseGuard,
        settlement: Settlement,
        claim: Claim,
        response: Response,
        parsed: Analysis,
    ) -> Settlement:
        """Show the page to the modules; return its settlement with what they made of it."""
        context, task = self._context, guard.task
        assert settlement.page is not None
        if context.watch is not None:
            context.watch(Event(EventKind.FETCHED, task.depth, task.url))
        guard.is_delivering = True
        if claim.again:
            await context.store.commit()  # so that after a crash this version is known to be void
        page = shown_page(claim, task, response, parsed, settlement.page.fetched_at)
        chosen = offered(settlement.links) if context.modules.hooks.links else ()
        delivered = await context.modules.deliver(page, chosen)
        settlement = with_delivered(settlement, delivered, context.link_filter)
        if not context.rows.give_way_to(delivered):
            row = context.rows.pack(page, parsed)
            settlement = msgspec.structs.replace(settlement, row=row)
        return with_body_written(settlement, context.bodies)
