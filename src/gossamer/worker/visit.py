"""One URL along the page path, from robots.txt to its links."""

import time

import msgspec

from gossamer.content import ContentKind, FoundLink, Markers, ParsedPage, parse
from gossamer.download import PRODUCT, RobotsCache
from gossamer.model import Outcome, Response, Url
from gossamer.policy import TREATMENTS, Pacing, RobotsVerdict, may_follow
from gossamer.urls import host_key
from gossamer.worker.paced import PacedFetch


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one URL."""

    url: Url
    outcome: Outcome
    detail: str = ""
    """Why there is no page, for people."""
    robots: RobotsVerdict
    response: Response | None = None
    """The answer; None when robots.txt kept us from asking."""
    page: ParsedPage | None = None
    """The page; None unless the outcome is FETCHED."""
    follow: bool = True
    """Whether the page lets its links be followed."""

    @property
    def body(self) -> bytes:
        """The page's bytes."""
        return self.response.body if self.response else b""

    @property
    def target(self) -> Url | None:
        """Where the redirect leads."""
        return self.response.target if self.response else None

    @property
    def links(self) -> tuple[FoundLink, ...]:
        """The links that may be followed."""
        return self.page.links if self.page and self.follow else ()

    def ending_as(self, outcome: Outcome, detail: str) -> "Visit":
        """Return this visit with another ending, for what only the crawl can know."""
        return msgspec.structs.replace(self, outcome=outcome, detail=detail)


class Visitor:
    """Takes URLs along the page path, one at a time, politely."""

    def __init__(self, fetch: PacedFetch, pacing: Pacing, markers: Markers | None = None) -> None:
        self._fetch = fetch
        self._pacing = pacing
        self._robots = RobotsCache(PRODUCT, fetch.robots, time.monotonic)
        self._markers = markers

    async def visit(self, url: Url) -> Visit:
        """Return what came of the URL, whatever that is."""
        robots = await self._ask_robots(url)
        if robots.refusal is not None:
            return _refused(url, robots)
        response = await self._fetch.page(url)
        if response.outcome is not Outcome.FETCHED:
            return Visit(
                url=url,
                outcome=response.outcome,
                detail=_why(response),
                robots=robots,
                response=response,
            )
        return self._read(url, robots, response)

    async def _ask_robots(self, url: Url) -> RobotsVerdict:
        """Judge the URL by its robots.txt, and take over the pace that it asks for."""
        rules = await self._robots.rules(url)
        if rules is not None and rules.crawl_delay_s is not None:
            self._pacing.ask_longer(host_key(url), rules.crawl_delay_s)
        return await self._robots.judge(url)

    def _read(self, url: Url, robots: RobotsVerdict, response: Response) -> Visit:
        """Parse the page, unless its bytes are no page whatever its label says."""
        headers = response.headers
        content_type = headers.get("content-type")
        page = parse(response.body, url=url, content_type=content_type, markers=self._markers)
        if page.kind is ContentKind.BINARY:
            return Visit(
                url=url,
                outcome=Outcome.NOT_HTML,
                detail="the bytes are neither HTML nor text",
                robots=robots,
                response=response,
            )
        return Visit(
            url=url,
            outcome=Outcome.FETCHED,
            robots=robots,
            response=response,
            page=page,
            follow=may_follow(PRODUCT, headers.get_all("x-robots-tag"), page.metas),
        )


def _refused(url: Url, robots: RobotsVerdict) -> Visit:
    """Return the visit that robots.txt ended before it began.

    A server that cannot be reached at all is reported as such, not as one without robots.txt.
    """
    assert robots.refusal is not None
    outcome, detail = robots.refusal, robots.reason
    if robots.cause is not None and TREATMENTS[robots.cause].host_level:
        outcome = TREATMENTS[robots.cause].outcome
    return Visit(url=url, outcome=outcome, detail=detail, robots=robots)


def _why(response: Response) -> str:
    """Say in words why there is no page."""
    if response.cause is None:
        return ""
    return f"{response.cause}: {response.detail}" if response.detail else str(response.cause)
