"""Keeping a page: it claims its number, the modules see it, and it is settled with its links."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.content.page_parser import ParsedPage
from gossamer.content.similarity import MAX_SAMPLED_BYTES
from gossamer.download.body import CodingError
from gossamer.frontier.contract import (
    THIS_PAGE,
    Claim,
    FrontierClient,
    HostFeedback,
    Link,
    Settled,
    Settlement,
    StoredBody,
    Task,
)
from gossamer.frontier.settling import as_claimed
from gossamer.model import Cause, Event, EventKind, Outcome, Receipt, Response
from gossamer.model.errors import CrawlError
from gossamer.policy.similarity import Sketch
from gossamer.stores.bodies.content import read_content
from gossamer.stores.bodies.places import BodyReader
from gossamer.worker import settlements
from gossamer.worker.context import WorkerContext, with_body_written
from gossamer.worker.events import tell_end, tell_page
from gossamer.worker.fetched_page import shown_page
from gossamer.worker.hooks import end_of, offered, with_delivered
from gossamer.worker.large_pages import LargePages
from gossamer.worker.lease_guard import LeaseGuard, still_held


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


PATIENCE_S: Final = 5.0
"""How long to wait for a page that others have claimed and not settled, because its modules are
slow. Without its body the two are taken for different pages."""
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25


async def read_own_contents(
    store: FrontierClient,
    bodies: BodyReader,
    large_pages: LargePages,
    response: Response,
    unread: tuple[int, ...],
) -> dict[int, bytes]:
    """Return the samples of own contents: this page's, and those of others that can be read."""
    sample = large_pages.main_content_sample
    own = {THIS_PAGE: await sample(response.body, response.headers.get("content-type"))}
    if not own[THIS_PAGE]:
        return own  # it is similar to none of them
    for number in unread:
        if number != THIS_PAGE:
            stored = await _settled_body(store, number)
            body = await _first_bytes(bodies, stored)
            if body is not None:
                own[number] = await sample(body, stored.content_type)
    return own


async def _settled_body(store: FrontierClient, number: int) -> StoredBody:
    """Return the body of a page as soon as it is kept."""
    give_up_at, pause_s = time.monotonic() + PATIENCE_S, _FIRST_PAUSE_S
    while (stored := await store.stored_body(number)).claimed and time.monotonic() < give_up_at:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    return stored


async def _first_bytes(bodies: BodyReader, stored: StoredBody) -> bytes | None:
    if stored.content is None:
        return None
    try:
        return read_content(await bodies.read(stored.content)).first(MAX_SAMPLED_BYTES)
    except (CodingError, CrawlError):  # it is damaged, which `verify` tells, or out of reach
        return None


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
        parsed: ParsedPage,
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

    def _with_row(
        self, settlement: Settlement, response: Response, parsed: ParsedPage
    ) -> Settlement:
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
        self, task: Task, response: Response, parsed: ParsedPage, unread: tuple[int, ...]
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
        parsed: ParsedPage,
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
