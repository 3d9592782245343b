"""What a worker does with one task: robots, download, parse, twin?, modules, links, settle."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gossamer.content import Analysis, AnalysisRules, Kind, RawPage, parse
from gossamer.download import PRODUCT, Client
from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response
from gossamer.policy import RobotsVerdict, may_follow
from gossamer.stores.contract import KeptPage, Link, Pace, Settled, Settlement, Store, Task
from gossamer.worker import settlements
from gossamer.worker.analysts import AnalysisError, Analysts
from gossamer.worker.hold import Hold, LostPlaceError
from gossamer.worker.links import LinkFiler
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.telling import tell_end, tell_links


class Modules(Protocol):
    """Whoever wants to see the pages."""

    async def deliver(self, page: Page) -> None:
        """Show a page to every module."""

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell that a page shown before is nearer than was known."""


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """What all workers of a process work with."""

    store: Store
    client: Client
    robots: PoliteRobots
    filer: LinkFiler
    modules: Modules
    clock: Callable[[], float]
    """Seconds since the epoch."""
    watch: Callable[[Event], None] | None = None
    """Wants to know each step; None: nobody does."""
    ignored_robots: frozenset[str] = frozenset()
    analysts: Analysts = msgspec.field(
        default_factory=lambda: Analysts(AnalysisRules(), alone=True)
    )
    max_depth: int | None = None
    lease_s: float = 120.0
    """How long a lease holds without being renewed."""
    retries: bool = True
    """Whether a failure that may pass is tried again."""
    telling_depths: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """Keeps the order, so that what a module hears last of a page is its smallest depth."""


class Pipeline:
    """Takes tasks along the page path, and settles each."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def work(self, hold: Hold) -> Settled | None:
        """Take one task to its end; None if it was given back undone."""
        try:
            return await self._work(hold, hold.task)
        except LostPlaceError:
            await self._kit.store.put_back(hold.task, None, self._kit.clock())
            return None

    async def _work(self, hold: Hold, task: Task) -> Settled | None:
        if task.hopeless:
            return await self._settle(settlements.gave_up(task))
        verdict, asked = await self._ask_robots(hold, task)
        if not verdict.allowed:
            return await self._settle_refused(task, verdict, asked)
        if asked is not None:
            # The host was asked for its robots.txt, and rests before the page's turn comes.
            await self._kit.store.put_back(task, asked, self._kit.clock())
            await self._heed(asked)
            return None
        response = await hold.during(lambda: self._kit.client.fetch(task.url))
        pace = settlements.pace_of(response, self._kit.clock())
        if response.outcome is Outcome.REDIRECTED:
            targets = self._kit.filer.in_scope([response.target] if response.target else [])
            return await self._settle(settlements.redirected(task, response, targets, pace))
        if response.outcome is not Outcome.FETCHED:
            return await self._settle(settlements.failed(task, response, pace))
        return await self._judge(task, response, pace)

    async def _ask_robots(self, hold: Hold, task: Task) -> tuple[RobotsVerdict, Pace | None]:
        """Judge the task; with what was learnt of the host's pace, if it was asked for that."""
        if task.host in self._kit.ignored_robots:
            words = "robots.txt is ignored for this host, as the operator said"
            return RobotsVerdict(reason=words), None
        if (known := self._kit.robots.known(task.url)) is not None:
            return known, None
        return await hold.during(lambda: self._fetch_robots(task))

    async def _fetch_robots(self, task: Task) -> tuple[RobotsVerdict, Pace | None]:
        robots = self._kit.robots
        async with robots.holding(task.host) as place:
            verdict = await robots.judge(task.url)
            rules = await robots.rules(task.url)
        if place.pace is None or rules is None:
            return verdict, place.pace
        return verdict, msgspec.structs.replace(place.pace, crawl_delay_s=rules.crawl_delay_s)

    async def _settle_refused(
        self, task: Task, verdict: RobotsVerdict, asked: Pace | None
    ) -> Settled:
        wait_s = None if verdict.retry_at is None else verdict.retry_at - time.monotonic()
        now = self._kit.clock()
        return await self._settle(settlements.refused(task, verdict, asked, now, wait_s))

    async def _judge(self, task: Task, response: Response, pace: Pace) -> Settled | None:
        """Find out what is in the body, and keep it if it is a page."""
        raw = RawPage(task.url, response.headers.get("content-type"), response.body)
        try:
            analysis = await self._kit.analysts.analyse(raw)
        except AnalysisError:
            outcome, words = Outcome.GAVE_UP, "its bytes broke the process that read them, twice"
        else:
            if analysis.kind is not Kind.BINARY:
                return await self._keep(task, response, analysis, pace)
            outcome, words = Outcome.NOT_HTML, "the bytes are neither HTML nor text"
        return await self._settle(settlements.unkept(task, response, outcome, words, pace))

    async def _keep(
        self, task: Task, response: Response, parsed: Analysis, pace: Pace
    ) -> Settled | None:
        """Give the page its number, show it to the modules and settle it with its links."""
        kit = self._kit
        asked_at = kit.clock()
        claim = await kit.store.claim(task, parsed.digest, parsed.sketch, asked_at)
        if claim.lost or not await still_held(kit, [task], asked_at):
            return None
        if claim.page_id is None:
            return await self._settle(settlements.repeated(task, response, claim, pace))
        page = _page(claim.page_id, task, response, parsed, pace.ended)
        if kit.watch is not None:
            kit.watch(Event(EventKind.FETCHED, task.depth, task.url))
        await kit.modules.deliver(page)
        follow = may_follow(PRODUCT, response.headers.get_all("x-robots-tag"), parsed.metas)
        settled = await self._settle(
            Settlement(
                task=task,
                outcome=Outcome.FETCHED,
                status=response.status,
                size=len(response.body),
                page=_kept(page, parsed),
                links=self._links(parsed) if follow else [],
                pace=pace,
            )
        )
        self._tell_links(task, parsed, settled, follow=follow)
        return settled

    def _links(self, parsed: Analysis) -> list[Link]:
        return self._kit.filer.in_scope(link.url for link in parsed.links if link.url)

    def _tell_links(self, task: Task, parsed: Analysis, settled: Settled, *, follow: bool) -> None:
        kit = self._kit
        if kit.watch is None or task.depth == kit.max_depth:
            return
        kit.watch(Event(EventKind.SCANNING, task.depth, task.url))
        if follow:
            tell_links(kit.watch, task, parsed.links, kit.filer, settled.new_links)
        else:
            kit.watch(Event(EventKind.NO_FOLLOW, task.depth, task.url))

    async def _settle(self, settlement: Settlement) -> Settled:
        """Record what came of a task, and tell whoever watches."""
        kit = self._kit
        unheard = settlement.cause is Cause.KEPT_CONNECTION_LOST
        if settlement.retry and not (kit.retries or unheard):
            settlement = msgspec.structs.replace(settlement, retry=False)
        settled = await kit.store.settle(self._with_delay(settlement), kit.clock())
        if kit.watch is not None and settled.accepted and settlement.page is None:
            tell_end(kit.watch, settlement, settled)
        if settlement.pace is not None:
            await self._heed(settlement.pace)
        if settled.nearer:
            async with kit.telling_depths:
                await tell_depths(kit.store, kit.modules, settled.nearer)
        return settled

    def _with_delay(self, settlement: Settlement) -> Settlement:
        """Tell with each visit which pause its host has asked for: a store may forget it."""
        pace, delay_s = settlement.pace, self._kit.robots.known_delay_s(settlement.task.url)
        if pace is None or delay_s is None or pace.crawl_delay_s is not None:
            return settlement
        pace = msgspec.structs.replace(pace, crawl_delay_s=delay_s)
        return msgspec.structs.replace(settlement, pace=pace)

    async def _heed(self, pace: Pace) -> None:
        """Make a host's wish for a longer pause durable at once, so that it outlasts us."""
        if pace.retry_after_s is not None or pace.crawl_delay_s is not None:
            await self._kit.store.commit()


async def still_held(kit: Kit, tasks: Sequence[Task], asked_at: float) -> Sequence[Task]:
    """Return the tasks that are still ours; the store said so, when it was asked at that moment.

    We may have stood still since, and others may be at work in our place: to ask their hosts or to
    show the modules a number that is theirs by now would be wrong.
    """
    while tasks and kit.clock() - asked_at >= kit.lease_s / 2:
        asked_at = kit.clock()
        lost = await kit.store.renew(tasks, asked_at)
        tasks = [task for task in tasks if task not in lost]
    return tasks


async def tell_depths(store: Store, modules: Modules, pages: Sequence[tuple[int, int]]) -> None:
    """Tell the modules of shorter paths, once those are durable; a crash repeats what it cuts."""
    await store.commit()
    for page_id, depth in pages:
        await modules.depth_changed(page_id, depth)
    await store.told(pages)


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


def _kept(page: Page, parsed: Analysis) -> KeptPage:
    return KeptPage(
        page_id=page.id,
        size=len(page.body),
        digest=parsed.digest,
        content=parsed.packed,
        content_type=page.content_type,
        encoding=page.encoding,
        title=page.title,
        fetched_at=page.fetched_at,
    )
