"""The first step of the page path: what robots.txt says of a task."""

import asyncio
import time

import msgspec

from gossamer.download.options import Accept
from gossamer.frontier.contract import HostFeedback, Settlement, Task
from gossamer.model import Outcome, Response, Url
from gossamer.policy import RobotsVerdict
from gossamer.policy.size_limits import Allowance
from gossamer.worker import settlements
from gossamer.worker.context import WorkerContext
from gossamer.worker.lease_guard import LeaseGuard
from gossamer.worker.settlements import MAX_REDIRECTS


class PageFetcher:
    """Fetches the pages of tasks; `on_response` of the context sees each answer."""

    def __init__(self, context: WorkerContext) -> None:
        self._client = context.client
        self._robots = context.robots
        self._link_filter = context.link_filter
        self._cookies = context.cookies
        self._on_response = context.on_response

    async def fetch(self, task: Task, allowance: Allowance) -> tuple[Url, Response]:
        """Fetch a page; follow redirects to other spellings of its URL, and return the last.

        To the store all of these are one URL, which it would not hand out again. An answer that
        sets a cookie may lead to a spelling that was asked before: that is asked again, once.
        """
        spellings = [task.url]
        while True:
            response, has_set_cookie = await self._request(task, spellings[-1], allowance)
            target = response.target
            if (
                response.outcome is not Outcome.REDIRECTED
                or target is None
                or spellings.count(target) > int(has_set_cookie)
                or len(spellings) > MAX_REDIRECTS
                or not self._link_filter.is_same(task.url, target)
            ):
                return spellings[-1], response
            verdict = self._robots.known(target)
            if verdict is not None and not verdict.allowed:
                return spellings[-1], response
            await asyncio.sleep(self._pause_s(task, target))
            spellings.append(target)

    async def fetch_sitemap(self, task: Task, allowance: Allowance) -> Response:
        """Fetch a sitemap, as a page of its origin is asked for."""
        response, _ = await self._request(task, task.url, allowance, Accept.SITEMAP)
        return response

    async def has_cookies(self, target: Url | None) -> bool:
        """Return whether a redirect leads to where cookies are sent: it may lead back then."""
        cookies = self._cookies
        return cookies is not None and target is not None and await cookies.has_any(target)

    def _pause_s(self, task: Task, url: Url) -> float:
        return max(task.delay_s, self._robots.known_delay_s(url) or 0.0)

    async def _request(
        self, task: Task, url: Url, allowance: Allowance, accept: Accept = Accept.PAGE
    ) -> tuple[Response, bool]:
        """Send a request; return the answer, and whether it has set a cookie."""
        jar = await self._cookies.open(url) if self._cookies is not None else None
        cookies = jar.cookies if jar is not None else None
        pause_s = self._pause_s(task, url)
        response = await self._client.fetch(url, accept, allowance, cookies, pause_s)
        if self._on_response is not None:
            self._on_response(response)
        if self._cookies is None or jar is None:
            return response, False
        return response, await self._cookies.keep(jar)


IGNORED = RobotsVerdict(reason="robots.txt is ignored for this host, as the operator said")


class RobotsCheck:
    """Judges tasks by the robots.txt of their hosts, and asks for it where it is not known."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    def known(self, task: Task) -> RobotsVerdict | None:
        """Return the verdict on a task if it is known without asking its host."""
        if task.host in self._context.ignored_robots:
            return IGNORED
        return self._context.robots.known(task.url)

    async def ask(self, guard: LeaseGuard) -> tuple[RobotsVerdict, HostFeedback | None]:
        """Ask for robots.txt; return the verdict, and what was learnt of the host's pace.

        None: somebody else's request was enough. Sitemaps that it announces are added.
        """
        return await guard.during(lambda: self._fetch(guard.task, guard.allowance))

    def refusal(self, task: Task, verdict: RobotsVerdict, asked: HostFeedback | None) -> Settlement:
        """Return how a task ends that may not be fetched, or not yet."""
        wait_s = None if verdict.retry_at is None else verdict.retry_at - time.monotonic()
        now, retries = self._context.clock(), self._context.retries
        return settlements.refused(task, verdict, asked, now, wait_s, retries=retries)

    async def _fetch(
        self, task: Task, allowance: Allowance
    ) -> tuple[RobotsVerdict, HostFeedback | None]:
        robots, sitemaps = self._context.robots, self._context.sitemaps
        async with robots.holding(task.host, task.delay_s) as slot:
            verdict = await robots.judge(task.url, allowance)
            rules = await robots.rules(task.url, allowance)
        if rules is not None and sitemaps is not None:
            await sitemaps.announce(task, rules.sitemaps)
        feedback = slot.feedback
        if feedback is None:
            return verdict, None
        if rules is not None:
            feedback = msgspec.structs.replace(feedback, crawl_delay_s=rules.crawl_delay_s)
        if verdict.allowed:
            robots.promise(task.url, verdict)  # for the task's next turn, after the host's rest
        return verdict, feedback
