"""The requests for the pages of tasks, with the cookies of their domains."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gossamer.download.connections import RequestCookies
from gossamer.download.options import Accept
from gossamer.frontier.contract import FrontierClient, Task
from gossamer.model import HostKey, Outcome, Response, Url
from gossamer.policy.cookies import Cookie, CookieChanges, find_changes
from gossamer.policy.size_limits import Allowance
from gossamer.urls import host_key
from gossamer.worker.settlements import MAX_REDIRECTS

if TYPE_CHECKING:
    from gossamer.worker.context import WorkerContext


class PageFetcher:
    """Fetches the pages of tasks; `on_response` of the context sees each answer."""

    def __init__(self, context: "WorkerContext") -> None:
        self._client = context.client
        self._robots = context.robots
        self._link_filter = context.link_filter
        self._cookies = context.cookies
        self._on_response = context.on_response

    async def fetch(self, task: Task, allowance: Allowance) -> tuple[Url, Response]:
        """Fetch a page; follow redirects to other spellings of its URL, and return the last.

        To the frontier all of these are one URL, which it would not hand out again. An answer that
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
        return max(task.delay_s, self._robots.cache.known_delay_s(url) or 0.0)

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
        return response, await self._cookies.store(jar)


class OpenJar:
    """The cookies of a URL's domain, while the URL is requested."""

    def __init__(self, domain: str, jar: Sequence[Cookie]) -> None:
        self._jar = jar
        self.domain = domain
        self.cookies = RequestCookies(cookie.line for cookie in jar)
        """What the request sends, and what is there after it."""

    def changes(self) -> CookieChanges:
        """Return what the request has changed."""
        return find_changes(self._jar, self.cookies.lines, self.domain)


class CookieJars:
    """The jars of the crawl, which the frontier has, one for each registered domain.

    `domain_of` goes by the public suffix list; `applies` says whether a host gets cookies at all.
    """

    def __init__(
        self,
        frontier: FrontierClient,
        domain_of: Callable[[str], str],
        applies: Callable[[HostKey], bool],
    ) -> None:
        self._frontier = frontier
        self._domain_of = domain_of
        self._applies = applies

    async def open(self, url: Url) -> OpenJar | None:
        """Return the cookies for a request; None if the host gets none and none are kept of it."""
        host = host_key(url)
        if not self._applies(host):
            return None
        domain = self._domain_of(host)
        return OpenJar(domain, await self._frontier.cookies(domain))

    async def store(self, jar: OpenJar) -> bool:
        """Store what a request has changed; return whether it has set a cookie."""
        if not (changes := jar.changes()):
            return False
        await self._frontier.put_cookies(jar.domain, changes)
        return bool(changes.changed)

    async def has_any(self, url: Url) -> bool:
        """Return whether there are cookies of the URL's domain, which it may get."""
        jar = await self.open(url)
        return jar is not None and bool(jar.cookies.lines)
