"""A parsed page: it claims its number, modules see it, and it is settled with its links."""

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
    HostFeedback,
    Link,
    ReturnedTask,
    Settled,
    Settlement,
    Task,
    as_claimed,
)
from gossamer.model import Cause, Event, EventKind, Outcome, Response
from gossamer.model.errors import CrawlError
from gossamer.model.names import Sketch
from gossamer.model.page import unpack_attributes
from gossamer.modules.contract import FollowedLink
from gossamer.stores.bodies import REFERENCE, BodyReader, read_content
from gossamer.worker import settlements
from gossamer.worker.context import WorkerContext
from gossamer.worker.events import emit_end, emit_page, end_of
from gossamer.worker.fetched_page import PageProcessor, shown_page
from gossamer.worker.in_flight import LeaseGuard, still_held
from gossamer.worker.link_filter import LinkFilter

PATIENCE_S: Final = 5.0
"""How long to wait for a page that others have claimed and not settled, because its modules are
slow. Without its body the two are taken for different pages."""
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25


class Settler:
    """Tells the frontier what came of tasks."""

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
        guard.begin_settling(settlement.size)
        settled = await context.store.settle(settlement, context.clock())
        if context.watch is not None and settled.accepted and settlement.page is None:
            emit_end(context.watch, settlement, settled)
        return settled

    async def claim_and_settle(
        self, guard: LeaseGuard, settlement: Settlement, sketch: Sketch | None
    ) -> Settled:
        """Record a page that nobody has to see under its number: it claims that in one call."""
        settlement = self._completed(guard, settlement)
        # It may have to be compared with others first.
        guard.begin_settling(settlement.size, is_over=False)
        settled = await self._context.store.claim_and_settle(
            settlement, sketch, self._context.clock()
        )
        guard.end_settling()
        return settled

    async def release(
        self, guard: LeaseGuard, feedback: HostFeedback | None, *, short: bool = False
    ) -> None:
        """Give a task back undone; `short`: what it was allowed to receive was too little."""
        # If others have a part of the budget, there may be enough of it the next time.
        returned = ReturnedTask(guard.allowance.received, short and guard.task.is_last_of_budget)
        context = self._context
        guard.begin_settling(0)
        await context.store.release(guard.task, feedback, context.clock(), returned)

    def _completed(self, guard: LeaseGuard, settlement: Settlement) -> Settlement:
        """Tell with each visit what was received, and which pause its host asked for.

        The frontier may forget that pause. Why the host failed is remembered here.
        """
        self._context.failures.note(settlement)
        received, feedback = guard.allowance.received, settlement.feedback
        delay_s = self._context.robots.cache.known_delay_s(settlement.task.url)
        if feedback is not None and delay_s is not None and feedback.crawl_delay_s is None:
            feedback = msgspec.structs.replace(feedback, crawl_delay_s=delay_s)
        return msgspec.structs.replace(settlement, received=received, feedback=feedback)


class PageStorer:
    """Stores the pages that repeat no other."""

    def __init__(self, context: WorkerContext, settler: Settler, reader: PageProcessor) -> None:
        self._context = context
        self._settler = settler
        self._reader = reader
        self._bodies = BodyReader(context.store.metadata, context.fetch_body)

    async def store(
        self,
        guard: LeaseGuard,
        response: Response,
        parsed: ParsedPage,
        feedback: HostFeedback,
        links: Sequence[Link] | None,
    ) -> Settled | None:
        """Store a page with its links, or settle it as a repetition; None: its lease is lost.

        If `links` is None, they are not to be followed.
        """
        context, task = self._context, guard.task
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            cause=Cause.NO_MARKERS if parsed.markers_missing else None,
            detail=settlements.unfollowed_links_detail(parsed),
            status=response.status,
            size=len(response.body),
            page=await self._reader.stored(response, parsed, feedback.ended),
            links=links or (),
            feedback=feedback,
        )
        unread: Sequence[int] = ()
        hooks = context.modules.hooks
        if context.watch is None and not hooks.pages and not hooks.ends:  # nobody has to see it
            settlement = self._with_row(settlement, response, parsed)
            settlement = await self._with_body_written(settlement)
            settled = await self._settler.claim_and_settle(guard, settlement, parsed.sketch)
            if not settled.unread:
                if settled.repeats is not None or not settled.accepted:
                    self._discard_body(settlement)
                return settled
            unread = settled.unread
        asked_at = context.clock()
        claim = await self._claim(task, response, parsed, unread)
        held = await still_held(context.store, [task], asked_at, context.clock, context.lease_s)
        if claim.lost or not held:
            return None
        if claim.page_id is None:
            self._discard_body(settlement)
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
            emit_page(watch, settlement, parsed, link_filter, settled, follow=follow)
        return settled

    async def _claim(
        self, task: Task, response: Response, parsed: ParsedPage, unread: Sequence[int]
    ) -> Claim:
        """Claim a number for the page; one that looks similar to others is compared with them."""
        store, clock = self._context.store, self._context.clock
        if not unread:
            claim = await store.claim(task, parsed.digest, parsed.sketch, clock())
            if not claim.unread:
                return claim
            unread = claim.unread
        samples = await self._read_own_contents(response, unread)
        return await store.claim(task, parsed.digest, parsed.sketch, clock(), samples)

    async def _read_own_contents(
        self, response: Response, unread: Sequence[int]
    ) -> dict[int, bytes]:
        """Return the samples of own contents: this page's, and those of others that can be read."""
        sample = self._reader.main_content_sample
        samples = {THIS_PAGE: await sample(response.body, response.headers.get("content-type"))}
        if not samples[THIS_PAGE]:
            return samples  # it is similar to none of them
        for number in unread:
            if number != THIS_PAGE and (body := await self._stored_body(number)) is not None:
                samples[number] = await sample(*body)
        return samples

    async def _stored_body(self, number: int) -> tuple[bytes, str | None] | None:
        """Return how the body of a page begins, as soon as it is stored, and its content type."""
        ask, pause_s = self._context.store.stored_body, _FIRST_PAUSE_S
        give_up_at = time.monotonic() + PATIENCE_S
        while (stored := await ask(number)).claimed and time.monotonic() < give_up_at:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        if stored.content is None:
            return None
        try:
            content = read_content(await self._bodies.read(stored.content))
            attributes = unpack_attributes(stored.attributes)
            return content.first(MAX_SAMPLED_BYTES), attributes.content_type
        except (
            CodingError,
            CrawlError,
            msgspec.DecodeError,
        ):  # it is damaged, which `verify` tells, or out of reach
            return None

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
        offered = [FollowedLink(link.url) for link in settlement.links]
        delivered = await context.modules.deliver(
            page, offered if context.modules.hooks.links else ()
        )
        links = settlement.links
        if delivered.links is not None:
            links = _links_in_scope(delivered.links, context.link_filter)
        row = None if context.rows.give_way_to(delivered) else context.rows.pack(page, parsed)
        return await self._with_body_written(
            msgspec.structs.replace(settlement, records=delivered.given, links=links, row=row)
        )

    def _with_row(
        self, settlement: Settlement, response: Response, parsed: ParsedPage
    ) -> Settlement:
        """Return the settlement of a page without a number yet, with what outputs want of it."""
        rows, task, page = self._context.rows, settlement.task, settlement.page
        if not rows.are_wanted or page is None:
            return settlement
        claim, fetched_at, with_links = Claim(page_id=0), page.fetched_at, rows.have_links
        shown = shown_page(claim, task, response, parsed, fetched_at, with_links=with_links)
        return msgspec.structs.replace(settlement, row=rows.pack(shown, parsed))

    async def _with_body_written(self, settlement: Settlement) -> Settlement:
        """Return a settlement that refers to the body of its page, which is written; only once."""
        writer, page, task = self._context.bodies, settlement.page, settlement.task
        if writer is None or page is None or page.content.startswith(REFERENCE):
            return settlement
        ids = task.url_id, task.lease
        stored = await writer.write(page.content, *ids, page.fetched_at, page.digest)
        page = msgspec.structs.replace(page, content=stored)
        return msgspec.structs.replace(settlement, page=page)

    def _discard_body(self, settlement: Settlement) -> None:
        """Have a body go that was written, and is not kept after all."""
        if self._context.bodies is not None and settlement.page is not None:
            self._context.bodies.discard(settlement.page.content)


def _links_in_scope(links: Sequence[FollowedLink], link_filter: LinkFilter) -> list[Link]:
    """Return those of the chosen links that are in scope; of one chosen twice the first counts."""
    chosen: dict[bytes, Link] = {}
    for followed in links:
        link = link_filter.judge(followed.url)
        if link is not None and followed.score is not None:
            link = msgspec.structs.replace(link, score=float(followed.score))
        if link is not None:
            chosen.setdefault(link.key, link)
    return list(chosen.values())
