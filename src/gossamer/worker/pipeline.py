"""What a worker does with one task: robots, download, parse, duplicate?, modules, links, settle."""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from gossamer.codings import ContentPacker
from gossamer.content import Analyser, Analysis, AnalysisRules, RawPage
from gossamer.download import PRODUCT, AddressBusyError, Client
from gossamer.errors import PageRefusedError
from gossamer.model import Cause, Event, EventKind, Outcome, Receipt, Response, Url
from gossamer.policy import RobotsVerdict, may_follow
from gossamer.policy.retry import RETRIES
from gossamer.policy.traps import CLEAR
from gossamer.stores.bodies.reader import BodyReader
from gossamer.stores.bodies.writer import BodyWriter
from gossamer.stores.claim import Claim
from gossamer.stores.contract import Link, Settled, Settlement, Store, Task
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.keeping import as_claimed
from gossamer.worker import settlements
from gossamer.worker.bodies import with_body_written
from gossamer.worker.comparison import read_own_contents
from gossamer.worker.cookies import CookieJars
from gossamer.worker.crash_note import PagesInHand
from gossamer.worker.hooks import Modules, end_of, offered, report_depths, with_delivered
from gossamer.worker.large_pages import LARGE_BYTES, LargePages
from gossamer.worker.lease_guard import LeaseGuard, LeaseLostError
from gossamer.worker.links import LinkFilter
from gossamer.worker.page_fetcher import PageFetcher
from gossamer.worker.page_rows import PageRows
from gossamer.worker.pages import kept_page, shown_page
from gossamer.worker.robots import PoliteRobots, TooLittleLeftError
from gossamer.worker.sitemaps import SitemapReader
from gossamer.worker.telling import tell_end, tell_links
from gossamer.worker.traps import TrapWatch, is_deferred

FILTERED_AT_ONCE = 500
"""How many links of a page are judged before others have their turn."""


class WorkerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all workers of a process work with."""

    store: Store
    client: Client
    robots: PoliteRobots
    link_filter: LinkFilter
    modules: Modules
    clock: Callable[[], float]
    """Seconds since the epoch."""
    watch: Callable[[Event], None] | None = None
    """Wants to know each step; None: nobody does."""
    on_response: Callable[[Response], None] | None = None
    """Sees each answer to the request for a page; None: nobody does."""
    ignored_robots: frozenset[str] = frozenset()
    sitemaps: SitemapReader | None = None
    """None: there are none."""
    analyser: Analyser = msgspec.field(default_factory=lambda: Analyser(AnalysisRules()))
    in_hand: PagesInHand = msgspec.field(default_factory=PagesInHand)
    """The pages that are read and shown to modules just now."""
    cookies: CookieJars | None = None
    """None: no cookies are sent or kept."""
    max_depth: int | None = None
    lease_s: float = 120.0
    """How long a lease holds without being renewed."""
    retries: int = RETRIES
    """How often a failure that may pass is tried again."""
    rows: PageRows = msgspec.field(default_factory=PageRows)
    """Makes the rows that outputs want."""
    similar_links: bool = True
    """Whether the links of a page that is similar to another are followed."""
    bodies: BodyWriter | None = None
    """Writes the bodies of pages; None: the store keeps them."""
    traps: TrapWatch | None = None
    """None: nothing is taken for a trap."""
    reporting_depths: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """Keeps the order, so that what a module hears last of a page is its smallest depth."""


class Pipeline:
    """Takes tasks along the page path, and settles each."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._fetcher = PageFetcher(
            context.client,
            context.robots,
            context.link_filter,
            context.cookies,
            context.on_response,
        )
        self._packer = ContentPacker()
        self._bodies = BodyReader(context.store.note)
        self._large_pages = LargePages(context.analyser.rules)

    async def work(self, guard: LeaseGuard) -> Settled | None:
        """Take one task to its end; None if it was given back undone."""
        try:
            return await self._work(guard, guard.task)
        except (LeaseLostError, PageRefusedError, TooLittleLeftError, AddressBusyError) as end:
            await self._release(guard, None, short=isinstance(end, TooLittleLeftError))
            return None

    async def _release(
        self, guard: LeaseGuard, feedback: HostFeedback | None, *, short: bool = False
    ) -> None:
        """Give a task back undone; `short`: what it was allowed to receive was too little."""
        # If others have a part of the budget, there may be enough of it the next time.
        receipt = Receipt(guard.allowance.received, short and guard.task.is_last)
        now = self._context.clock()
        await self._context.store.release(guard.task, feedback, now, receipt)

    async def _work(self, guard: LeaseGuard, task: Task) -> Settled | None:
        if (unasked := self._unasked(task)) is not None:
            return await self._settle(guard, unasked)
        verdict, asked = await self._ask_robots(guard, task)
        if not verdict.allowed:
            return await self._settle_refused(guard, verdict, asked)
        if asked is not None:
            # The host was asked for its robots.txt, and rests before the page's turn comes.
            self._context.robots.promise(task.url, verdict)
            await self._release(guard, asked)
            await self._heed(asked)
            return None
        if task.sitemap_of and self._context.sitemaps is not None:
            return await self._read_sitemap(guard, self._context.sitemaps)
        url, response = await guard.during(lambda: self._fetcher.fetch(task, guard.allowance))
        feedback = settlements.feedback_of(response, self._context.clock())
        if response.outcome is Outcome.REDIRECTED:
            return await self._settle_redirect(guard, response, feedback)
        if response.cause is Cause.OVER_BUDGET and guard.allowance.is_short:
            await self._release(guard, feedback, short=True)
            return None
        if response.outcome is not Outcome.FETCHED:
            settlement = settlements.failed(task, response, feedback, retries=self._context.retries)
            return await self._settle(guard, settlement)
        async with self._context.in_hand.hold(task.url_id, alone=task.deaths > 0):
            return await self._judge(guard, url, response, feedback)

    def _unasked(self, task: Task) -> Settlement | None:
        """Return how a task ends for which its host is not asked; None: it is."""
        if task.hopeless:
            return settlements.gave_up(task)
        if task.spent:
            return settlements.over_budget(task)
        trap = self._context.traps.judge(task) if self._context.traps is not None else CLEAR
        is_unasked = trap.stop or is_deferred(trap, task)
        return settlements.trapped(task, trap) if is_unasked else None

    async def _read_sitemap(self, guard: LeaseGuard, sitemaps: SitemapReader) -> Settled | None:
        """Fetch a sitemap and add what it lists; neither is it kept nor do modules see it."""
        context, task = self._context, guard.task
        async with sitemaps.turns:
            response = await guard.during(
                lambda: self._fetcher.fetch_sitemap(task, guard.allowance)
            )
            feedback = settlements.feedback_of(response, context.clock())
            if response.cause is Cause.OVER_BUDGET:
                await self._release(guard, feedback, short=True)
                return None
            async with context.in_hand.hold(task.url_id, alone=task.deaths > 0):
                settlement = await sitemaps.settlement(task, response, feedback, context.retries)
        return None if settlement is None else await self._settle(guard, settlement)

    async def _settle_redirect(
        self, guard: LeaseGuard, response: Response, feedback: HostFeedback
    ) -> Settled:
        """Settle a redirect by status or refresh; where it leads is added if that is in scope."""
        task, target, link_filter = guard.task, response.target, self._context.link_filter
        if target is None:
            targets = []
        elif task.depth:
            targets = link_filter.in_scope([target])
        else:  # only seeds, and what they redirect to, have the depth 0
            targets = link_filter.target_of_seed(target)
        again = await self._fetcher.has_cookies(target)
        settlement = settlements.redirected(task, response, targets, feedback, again=again)
        return await self._settle(guard, settlement)

    async def _ask_robots(
        self, guard: LeaseGuard, task: Task
    ) -> tuple[RobotsVerdict, HostFeedback | None]:
        """Judge the task; with what was learnt of the host's pace, if it was asked for that."""
        if task.host in self._context.ignored_robots:
            words = "robots.txt is ignored for this host, as the operator said"
            return RobotsVerdict(reason=words), None
        if (known := self._context.robots.known(task.url)) is not None:
            return known, None
        return await guard.during(lambda: self._fetch_robots(guard))

    async def _fetch_robots(self, guard: LeaseGuard) -> tuple[RobotsVerdict, HostFeedback | None]:
        robots, task = self._context.robots, guard.task
        async with robots.holding(task.host, task.delay_s) as slot:
            verdict = await robots.judge(task.url, guard.allowance)
            rules = await robots.rules(task.url, guard.allowance)
        if rules is not None and self._context.sitemaps is not None:
            await self._context.sitemaps.announce(task, rules.sitemaps)
        if slot.feedback is None or rules is None:
            return verdict, slot.feedback
        return verdict, msgspec.structs.replace(slot.feedback, crawl_delay_s=rules.crawl_delay_s)

    async def _settle_refused(
        self, guard: LeaseGuard, verdict: RobotsVerdict, asked: HostFeedback | None
    ) -> Settled:
        wait_s = None if verdict.retry_at is None else verdict.retry_at - time.monotonic()
        now, retries = self._context.clock(), self._context.retries
        return await self._settle(
            guard, settlements.refused(guard.task, verdict, asked, now, wait_s, retries=retries)
        )

    async def _judge(
        self, guard: LeaseGuard, url: Url, response: Response, feedback: HostFeedback
    ) -> Settled | None:
        """Find out what is in the body, and keep it if it is a page."""
        analyser, headers = self._context.analyser, response.headers
        raw = RawPage(url, headers.get("content-type"), response.body, headers)
        traps = self._context.traps
        is_examined = traps is not None and traps.examines(guard.task)
        if len(response.body) > LARGE_BYTES:
            parsed = await self._large_pages.analyse(raw, with_wording=is_examined)
        else:
            parsed = analyser.analyse(raw, with_wording=is_examined)
        if parsed.kind not in analyser.rules.accept:
            return await self._settle(
                guard, settlements.unaccepted(guard.task, response, parsed.kind, feedback)
            )
        follow = may_follow(PRODUCT, headers.get_all("x-robots-tag"), parsed.metas)
        target = parsed.redirect if follow else None
        if target is not None and not self._context.link_filter.is_same(url, target):
            response = msgspec.structs.replace(response, target=target)
            return await self._settle_redirect(guard, response, feedback)
        links = await self._links(parsed) if follow else None
        settled = await self._keep(guard, response, parsed, feedback, links)
        if traps is not None and settled is not None and settled.accepted:
            words = parsed.wording if is_examined else None
            await traps.note(guard.task, links or (), settled, words)
        return settled

    async def _keep(
        self,
        guard: LeaseGuard,
        response: Response,
        parsed: Analysis,
        feedback: HostFeedback,
        links: list[Link] | None,
    ) -> Settled | None:
        """Give the page its number, show it to the modules and settle it with its links.

        None: they are not to be followed.
        """
        context, task = self._context, guard.task
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            cause=Cause.NO_MARKERS if parsed.markers_missing else None,
            detail=settlements.words_about_links(parsed),
            status=response.status,
            size=len(response.body),
            page=kept_page(self._packer, response, parsed, feedback.ended),
            links=links or (),
            feedback=feedback,
        )
        unread: tuple[int, ...] = ()
        hooks = context.modules.hooks
        if context.watch is None and not hooks.pages and not hooks.ends:
            if context.rows.are_wanted:
                page = shown_page(Claim(page_id=0), task, response, parsed, feedback.ended)
                row = context.rows.pack(page, parsed)
                settlement = msgspec.structs.replace(settlement, row=row)
            settlement = with_body_written(settlement, context.bodies)
            settled = await self._settle(guard, settlement, parsed)
            if not settled.unread:
                return settled
            unread = settled.unread
        asked_at = context.clock()
        claim = await self._claim(task, response, parsed, unread)
        if claim.lost or not await still_held(context, [task], asked_at):
            return None
        settlement = as_claimed(settlement, claim, similar_links=context.similar_links)
        if claim.page_id is None:
            settled = await self._settle(guard, settlement)
            if claim.similarity is not None and context.similar_links:
                self._tell_links(settlement, parsed, settled, follow=links is not None)
            return msgspec.structs.replace(settled, repeated=True)
        if context.watch is not None:
            context.watch(Event(EventKind.FETCHED, task.depth, task.url))
        guard.is_delivering = True
        if claim.again:
            await context.store.commit()  # so that after a crash this version is known to be void
        page = shown_page(claim, task, response, parsed, feedback.ended)
        chosen = offered(settlement.links) if hooks.links else ()
        delivered = await context.modules.deliver(page, chosen)
        settlement = with_delivered(settlement, delivered, context.link_filter)
        if not context.rows.give_way_to(delivered.records):
            row = context.rows.pack(page, parsed)
            settlement = msgspec.structs.replace(settlement, row=row)
        settled = await self._settle(guard, with_body_written(settlement, context.bodies))
        self._tell_links(settlement, parsed, settled, follow=links is not None)
        return settled

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
        own = await read_own_contents(store, self._bodies, response, unread)
        return await store.claim(task, parsed.digest, parsed.sketch, clock(), own)

    async def _links(self, parsed: Analysis) -> list[Link]:
        """Return the links in scope, each once; others have their turn after every few hundred."""
        found: dict[bytes, Link] = {}
        for start in range(0, len(parsed.links), FILTERED_AT_ONCE):
            if start:
                await asyncio.sleep(0)
            some = parsed.links[start : start + FILTERED_AT_ONCE]
            for link in self._context.link_filter.in_scope(one.url for one in some if one.url):
                found.setdefault(link.key, link)
        return list(found.values())

    def _tell_links(
        self, settlement: Settlement, parsed: Analysis, settled: Settled, *, follow: bool
    ) -> None:
        context, task = self._context, settlement.task
        if context.watch is None or task.depth == context.max_depth:
            return
        detail = "" if parsed.markers_missing else settlement.detail
        context.watch(Event(EventKind.SCANNING, task.depth, task.url, detail=detail))
        if parsed.markers_missing:
            context.watch(Event(EventKind.NO_MARKERS, task.depth, task.url))
        if follow:
            tell_links(context.watch, settlement, parsed.links, context.link_filter, settled)
        else:
            context.watch(Event(EventKind.NO_FOLLOW, task.depth, task.url))

    async def _settle(
        self, guard: LeaseGuard, settlement: Settlement, unclaimed: Analysis | None = None
    ) -> Settled:
        """Record what came of a task, and tell whoever watches.

        A page that nobody has to see under its number claims that in the same call. Of sitemaps
        modules hear nothing.
        """
        context, is_sitemap = self._context, bool(settlement.task.sitemap_of)
        if context.modules.hooks.ends and not settlement.retry and not is_sitemap:
            guard.is_delivering = True
            more = await context.modules.finished(end_of(settlement))
            records = [*settlement.records, *more]
            settlement = msgspec.structs.replace(settlement, records=records)
        settlement, now = self._completed(guard, settlement), context.clock()
        if unclaimed is None:
            settled = await context.store.settle(settlement, now)
        else:
            settled = await context.store.keep(settlement, unclaimed.sketch, now)
        if context.watch is not None and settled.accepted and settlement.page is None:
            tell_end(context.watch, settlement, settled)
        if settlement.feedback is not None:
            await self._heed(settlement.feedback)
        if settled.nearer:
            async with context.reporting_depths:
                await report_depths(context.store, context.modules, settled.nearer)
        return settled

    def _completed(self, guard: LeaseGuard, settlement: Settlement) -> Settlement:
        """Tell with each visit what was received, and which pause its host has asked for.

        A store may forget that pause.
        """
        received, feedback = guard.allowance.received, settlement.feedback
        delay_s = self._context.robots.known_delay_s(settlement.task.url)
        if feedback is not None and delay_s is not None and feedback.crawl_delay_s is None:
            feedback = msgspec.structs.replace(feedback, crawl_delay_s=delay_s)
        return msgspec.structs.replace(settlement, received=received, feedback=feedback)

    async def _heed(self, feedback: HostFeedback) -> None:
        """Make a host's wish for a longer pause durable at once, so that it outlasts us."""
        if feedback.retry_after_s is not None or feedback.crawl_delay_s is not None:
            await self._context.store.commit()


async def still_held(
    context: WorkerContext, tasks: Sequence[Task], asked_at: float
) -> Sequence[Task]:
    """Return the tasks that are still ours; the store said so, when it was asked at that moment.

    We may have stood still since, and others may be at work in our slot: to ask their hosts or to
    show the modules a number that is theirs by now would be wrong.
    """
    while tasks and context.clock() - asked_at >= context.lease_s / 2:
        asked_at = context.clock()
        lost = await context.store.renew(tasks, asked_at)
        tasks = [task for task in tasks if task not in lost]
    return tasks
