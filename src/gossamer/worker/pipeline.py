"""What a worker does with one task: robots, download, parse, duplicate?, modules, links, settle."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gossamer.content import Analyser, Analysis, AnalysisRules, ContentKind, RawPage, parse
from gossamer.download import PRODUCT, Client
from gossamer.errors import PageRefusedError
from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response, Url
from gossamer.policy import RobotsVerdict, may_follow
from gossamer.stores.contract import HostFeedback, KeptPage, Link, Settled, Settlement, Store, Task
from gossamer.stores.keeping import as_claimed
from gossamer.worker import settlements
from gossamer.worker.crash_note import PagesInHand
from gossamer.worker.lease_guard import LeaseGuard, LeaseLostError
from gossamer.worker.links import LinkFilter
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.telling import tell_end, tell_links


class Modules(Protocol):
    """Whoever wants to see the pages."""

    @property
    def takes_pages(self) -> bool:
        """Whether there is anybody to show a page to."""

    @property
    def follows_depths(self) -> bool:
        """Whether there is anybody to tell of shorter paths."""

    async def deliver(self, page: Page) -> None:
        """Show a page to every module."""

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell that a page shown before is nearer than was known."""


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
    analyser: Analyser = msgspec.field(default_factory=lambda: Analyser(AnalysisRules()))
    in_hand: PagesInHand = msgspec.field(default_factory=PagesInHand)
    """The pages that are read and shown to modules just now."""
    max_depth: int | None = None
    lease_s: float = 120.0
    """How long a lease holds without being renewed."""
    retries: bool = True
    """Whether a failure that may pass is tried again."""
    reporting_depths: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """Keeps the order, so that what a module hears last of a page is its smallest depth."""


class Pipeline:
    """Takes tasks along the page path, and settles each."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    async def work(self, guard: LeaseGuard) -> Settled | None:
        """Take one task to its end; None if it was given back undone."""
        try:
            return await self._work(guard, guard.task)
        except (LeaseLostError, PageRefusedError):
            await self._context.store.release(guard.task, None, self._context.clock())
            return None

    async def _work(self, guard: LeaseGuard, task: Task) -> Settled | None:
        if task.hopeless:
            return await self._settle(settlements.gave_up(task))
        verdict, asked = await self._ask_robots(guard, task)
        if not verdict.allowed:
            return await self._settle_refused(task, verdict, asked)
        if asked is not None:
            # The host was asked for its robots.txt, and rests before the page's turn comes.
            await self._context.store.release(task, asked, self._context.clock())
            await self._heed(asked)
            return None
        url, response = await guard.during(lambda: self._fetch(task.url))
        feedback = settlements.feedback_of(response, self._context.clock())
        if response.outcome is Outcome.REDIRECTED:
            targets = self._context.link_filter.in_scope(
                [response.target] if response.target else []
            )
            return await self._settle(settlements.redirected(task, response, targets, feedback))
        if response.outcome is not Outcome.FETCHED:
            return await self._settle(settlements.failed(task, response, feedback))
        async with self._context.in_hand.hold(task.url_id, alone=task.deaths > 0):
            return await self._judge(guard, url, response, feedback)

    async def _fetch(self, url: Url) -> tuple[Url, Response]:
        """Fetch a page; follow redirects to other spellings of its URL, and return the last.

        To the store all of these are one URL, which it would not hand out again.
        """
        context, spellings = self._context, [url]
        while True:
            response = await context.client.fetch(spellings[-1])
            if context.on_response is not None:
                context.on_response(response)
            target = response.target
            if (
                response.outcome is not Outcome.REDIRECTED
                or target is None
                or target in spellings
                or len(spellings) > settlements.MAX_REDIRECTS
                or not context.link_filter.is_same(url, target)
            ):
                return spellings[-1], response
            verdict = context.robots.known(target)
            if verdict is not None and not verdict.allowed:
                return spellings[-1], response
            await asyncio.sleep(context.robots.pause_s(target))
            spellings.append(target)

    async def _ask_robots(
        self, guard: LeaseGuard, task: Task
    ) -> tuple[RobotsVerdict, HostFeedback | None]:
        """Judge the task; with what was learnt of the host's pace, if it was asked for that."""
        if task.host in self._context.ignored_robots:
            words = "robots.txt is ignored for this host, as the operator said"
            return RobotsVerdict(reason=words), None
        if (known := self._context.robots.known(task.url)) is not None:
            return known, None
        return await guard.during(lambda: self._fetch_robots(task))

    async def _fetch_robots(self, task: Task) -> tuple[RobotsVerdict, HostFeedback | None]:
        robots = self._context.robots
        async with robots.holding(task.host) as slot:
            verdict = await robots.judge(task.url)
            rules = await robots.rules(task.url)
        if slot.feedback is None or rules is None:
            return verdict, slot.feedback
        return verdict, msgspec.structs.replace(slot.feedback, crawl_delay_s=rules.crawl_delay_s)

    async def _settle_refused(
        self, task: Task, verdict: RobotsVerdict, asked: HostFeedback | None
    ) -> Settled:
        wait_s = None if verdict.retry_at is None else verdict.retry_at - time.monotonic()
        now = self._context.clock()
        return await self._settle(settlements.refused(task, verdict, asked, now, wait_s))

    async def _judge(
        self, guard: LeaseGuard, url: Url, response: Response, feedback: HostFeedback
    ) -> Settled | None:
        """Find out what is in the body, and keep it if it is a page."""
        raw = RawPage(url, response.headers.get("content-type"), response.body)
        analysis = self._context.analyser.analyse(raw)
        if analysis.kind is ContentKind.BINARY:
            words = "the bytes are neither HTML nor text"
            return await self._settle(
                settlements.unkept(guard.task, response, Outcome.NOT_HTML, words, feedback)
            )
        return await self._keep(guard, response, analysis, feedback)

    async def _keep(
        self, guard: LeaseGuard, response: Response, parsed: Analysis, feedback: HostFeedback
    ) -> Settled | None:
        """Give the page its number, show it to the modules and settle it with its links."""
        context, task = self._context, guard.task
        follow = may_follow(PRODUCT, response.headers.get_all("x-robots-tag"), parsed.metas)
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            status=response.status,
            size=len(response.body),
            page=_kept(response, parsed, feedback.ended),
            links=self._links(parsed) if follow else [],
            feedback=feedback,
        )
        if context.watch is None and not context.modules.takes_pages:
            return await self._settle(settlement, parsed)
        asked_at = context.clock()
        claim = await context.store.claim(task, parsed.digest, parsed.sketch, asked_at)
        if claim.lost or not await still_held(context, [task], asked_at):
            return None
        settlement = as_claimed(settlement, claim)
        if claim.page_id is None:
            return await self._settle(settlement)
        if context.watch is not None:
            context.watch(Event(EventKind.FETCHED, task.depth, task.url))
        guard.is_delivering = True
        await context.modules.deliver(_page(claim.page_id, task, response, parsed, feedback.ended))
        settled = await self._settle(settlement)
        self._tell_links(task, parsed, settled, follow=follow)
        return settled

    def _links(self, parsed: Analysis) -> list[Link]:
        return self._context.link_filter.in_scope(link.url for link in parsed.links if link.url)

    def _tell_links(self, task: Task, parsed: Analysis, settled: Settled, *, follow: bool) -> None:
        context = self._context
        if context.watch is None or task.depth == context.max_depth:
            return
        context.watch(Event(EventKind.SCANNING, task.depth, task.url))
        if follow:
            tell_links(context.watch, task, parsed.links, context.link_filter, settled.new_links)
        else:
            context.watch(Event(EventKind.NO_FOLLOW, task.depth, task.url))

    async def _settle(self, settlement: Settlement, unclaimed: Analysis | None = None) -> Settled:
        """Record what came of a task, and tell whoever watches.

        A page that nobody has to see under its number claims that in the same call.
        """
        context = self._context
        unheard = settlement.cause is Cause.KEPT_CONNECTION_LOST
        if settlement.retry and not (context.retries or unheard):
            settlement = msgspec.structs.replace(settlement, retry=False)
        settlement, now = self._with_delay(settlement), context.clock()
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

    def _with_delay(self, settlement: Settlement) -> Settlement:
        """Tell with each visit which pause its host has asked for: a store may forget it."""
        feedback, delay_s = (
            settlement.feedback,
            self._context.robots.known_delay_s(settlement.task.url),
        )
        if feedback is None or delay_s is None or feedback.crawl_delay_s is not None:
            return settlement
        feedback = msgspec.structs.replace(feedback, crawl_delay_s=delay_s)
        return msgspec.structs.replace(settlement, feedback=feedback)

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


async def report_depths(store: Store, modules: Modules, pages: Sequence[tuple[int, int]]) -> None:
    """Tell the modules of shorter paths, once those are durable; a crash repeats what it cuts."""
    if modules.follows_depths:
        await store.commit()
        for page_id, depth in pages:
            await modules.depth_changed(page_id, depth)
    await store.confirm_depth_changes(pages)


def _page(number: int, task: Task, response: Response, parsed: Analysis, fetched_at: float) -> Page:
    content_type = response.headers.get("content-type")
    return Page(
        id=number,
        url=task.url,
        depth=task.depth,
        status=response.status or 0,
        content_type=content_type or "",
        encoding=parsed.encoding,
        title=parsed.title,
        body=response.body,
        links=tuple(link.url for link in parsed.links if link.url),
        fetched_at=fetched_at,
        read_text=lambda: parse(response.body, url=task.url, content_type=content_type).text,
    )


def _kept(response: Response, parsed: Analysis, fetched_at: float) -> KeptPage:
    """Return the page as it is kept, without its number."""
    return KeptPage(
        page_id=0,
        size=len(response.body),
        digest=parsed.digest,
        content=parsed.packed,
        content_type=response.headers.get("content-type") or "",
        encoding=parsed.encoding,
        title=parsed.title,
        fetched_at=fetched_at,
    )
