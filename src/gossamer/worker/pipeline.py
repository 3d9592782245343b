"""The page path of a worker: robots, download, parse, duplicate?, modules, links, settle.

A task may leave it at any step. Each step is done elsewhere; here is what follows what.
"""

import msgspec

from gossamer.content.page_parser import RawPage
from gossamer.download.address_slots import AddressBusyError
from gossamer.download.options import PRODUCT
from gossamer.frontier.contract import HostFeedback, Settled, Settlement, Task
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.model.errors import PageRefusedError
from gossamer.policy import may_follow
from gossamer.policy.traps import CLEAR
from gossamer.worker import settlements
from gossamer.worker.context import WorkerContext
from gossamer.worker.fetched_page import PageProcessor
from gossamer.worker.in_flight import LeaseGuard, LeaseLostError
from gossamer.worker.page import PageStorer, Settler
from gossamer.worker.requests import PageFetcher
from gossamer.worker.robots import RobotsCheck, TooLittleLeftError
from gossamer.worker.sitemaps import SitemapReader
from gossamer.worker.traps import is_deferred


class Pipeline:
    """Takes tasks along the page path, and settles each."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._robots = RobotsCheck(context)
        self._fetcher = PageFetcher(context)
        self._reader = PageProcessor(context.page_parser)
        self._settler = Settler(context)
        self._storer = PageStorer(context, self._settler, self._reader)

    async def work(self, guard: LeaseGuard) -> Settled | None:
        """Take one task to its end; None if it was given back undone."""
        try:
            return await self._work(guard, guard.task)
        except TooLittleLeftError as end:
            await self._settler.release(guard, end.feedback, short=True)
        except (LeaseLostError, PageRefusedError, AddressBusyError):
            await self._settler.release(guard, None)
        return None

    async def _work(self, guard: LeaseGuard, task: Task) -> Settled | None:
        """Ask whether the page may be fetched, and fetch it."""
        if (unasked := self._unasked(task)) is not None:
            return await self._settler.settle(guard, unasked)
        verdict, asked = self._robots.known(task), None
        if verdict is None:
            verdict, asked = await self._robots.ask(guard)
        if not verdict.allowed:
            refusal = self._robots.refusal(task, verdict, asked)
            return await self._settler.settle(guard, refusal)
        if asked is not None:
            # The host was asked for its robots.txt, and rests before the page's turn comes.
            await self._settler.release(guard, asked)
            return None
        if task.sitemap_of and self._context.sitemaps is not None:
            return await self._read_sitemap(guard, self._context.sitemaps)
        url, response = await guard.during(lambda: self._fetcher.fetch(task, guard.allowance))
        feedback = settlements.feedback_of(response, self._context.clock())
        if response.outcome is Outcome.FETCHED:
            hold = self._context.in_flight.hold(task.url_id, alone=task.deaths > 0)
            async with hold as guard.page:
                return await self._read_page(guard, url, response, feedback)
        if response.outcome is Outcome.REDIRECTED:
            settlement = await self._redirected(task, response, feedback)
        elif response.cause is Cause.OVER_BUDGET and guard.allowance.is_short:
            raise TooLittleLeftError(feedback)
        else:
            settlement = settlements.failed(task, response, feedback, retries=self._context.retries)
        return await self._settler.settle(guard, settlement)

    def _unasked(self, task: Task) -> Settlement | None:
        """Return how a task ends for which its host is not asked; None: it is."""
        if task.host_given_up:
            return settlements.gave_up(task, self._context.failures.last(task.host))
        if task.exhausted_budget:
            return settlements.over_budget(task)
        trap = self._context.traps.judge(task) if self._context.traps is not None else CLEAR
        is_unasked = trap.stop or is_deferred(trap, task)
        return settlements.trapped(task, trap) if is_unasked else None

    async def _read_page(
        self, guard: LeaseGuard, url: Url, response: Response, feedback: HostFeedback
    ) -> Settled | None:
        """Parse the body, and store it with its links if it is a page."""
        context, task, headers = self._context, guard.task, response.headers
        raw = RawPage(url, headers.get("content-type"), response.body, headers)
        traps = context.traps
        is_examined = traps is not None and traps.examines(task)
        parsed = await self._reader.parse(raw, with_template_hash=is_examined)
        if parsed.kind not in context.page_parser.rules.accept:
            settlement = settlements.unaccepted(task, response, parsed.kind, feedback)
            return await self._settler.settle(guard, settlement)
        follow = may_follow(PRODUCT, headers.get_all("x-robots-tag"), parsed.metas)
        target = parsed.redirect if follow else None
        if target is not None and not context.link_filter.is_same(url, target):
            response = msgspec.structs.replace(response, target=target)
            settlement = await self._redirected(task, response, feedback)
            return await self._settler.settle(guard, settlement)
        links = await context.link_filter.of_page(parsed.page_links.urls()) if follow else None
        settled = await self._storer.store(guard, response, parsed, feedback, links)
        if traps is not None and settled is not None and settled.accepted:
            words = parsed.text_template_hash if is_examined else None
            await traps.note(task, links or (), settled, words)
        return settled

    async def _redirected(
        self, task: Task, response: Response, feedback: HostFeedback
    ) -> Settlement:
        """Return how a redirect ends, by status or refresh; its target is added if in scope."""
        # Only seeds, and what they redirect to, have the depth 0.
        targets = self._context.link_filter.targets(response.target, of_seed=not task.depth)
        again = await self._fetcher.has_cookies(response.target)
        return settlements.redirected(task, response, targets, feedback, again=again)

    async def _read_sitemap(self, guard: LeaseGuard, sitemaps: SitemapReader) -> Settled | None:
        """Fetch a sitemap and add what it lists; it is not stored, and modules do not see it."""
        context, task = self._context, guard.task
        async with sitemaps.turns:
            response = await guard.during(
                lambda: self._fetcher.fetch_sitemap(task, guard.allowance)
            )
            feedback = settlements.feedback_of(response, context.clock())
            if response.cause is Cause.OVER_BUDGET:
                raise TooLittleLeftError(feedback)
            async with context.in_flight.hold(task.url_id, alone=task.deaths > 0) as guard.page:
                settlement = await sitemaps.settlement(task, response, feedback, context.retries)
        return None if settlement is None else await self._settler.settle(guard, settlement)
