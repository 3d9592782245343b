"""The synthetic web: generated from a few numbers, with the expected result of a crawl."""

from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import islice

import msgspec
from tests.webs.graph.fates import Fate, Fates
from tests.webs.graph.layout import PRIVATE_DIRECTORY, Layout
from tests.webs.graph.oracle import Expected, GraphScope, Oracle
from tests.webs.graph.pages import Pages
from tests.webs.graph.process import GraphProcess, serve_in_process

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.testing.simulator.fault import draws
from gossamer.testing.site import KeepOpen, Raw, Reply, Reset
from gossamer.testing.web import Web

_ROBOTS = f"User-agent: *\nDisallow: {PRIVATE_DIRECTORY}\n"
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_STATUSES = {
    Fate.MISSING: (404, 404, 404),
    Fate.GONE: (410, 410, 410),
    Fate.SERVER_ERROR: (500, 502, 503),
}


class GraphWeb(msgspec.Struct, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """A web of hosts h0000.test, h0001.test …: the same web wherever the numbers are the same.

    Shares are parts of all pages, or of all hosts. The home page of every host is found.
    """

    hosts: int = 1000
    pages: int = 50_000
    """The number of URLs, of every fate, on all hosts together."""
    seed: int = 7
    skew: float = 0.8
    """How uneven the sizes of hosts are: 0 makes them equal, 1 gives half of all pages to a few."""
    redirects: float = 0.03
    """The share of redirects: to the same host and to others, some in chains."""
    loops: bool = True
    """Whether a tenth of the redirects form rings."""
    missing: float = 0.03
    """The share of pages that are missing (404) or gone (410)."""
    failing: float = 0.03
    """The share of pages that fail, with a 5xx unless they are one of the next two kinds."""
    reset: int = 20
    """How many of the failing pages reset the connection."""
    silent: int = 3
    """How many of the failing pages never answer. Each costs a crawler a full timeout."""
    robots_hosts: float = 0.2
    """The share of hosts whose robots.txt forbids a tenth of their pages; the largest is one."""
    slow_hosts: float = 0.02
    """The share of hosts, none of them large, that wait for `slow_s` before they answer."""
    slow_s: float = 0.02
    calendars: int = 0
    """How many hosts, none of them large, are a chain of pages, as deep as it is long."""

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= self.pages:
            raise UsageError("a web has at least one host, and at least one page for each")
        if min(self.skew, self.reset, self.silent, self.slow_s, self.calendars) < 0:
            raise UsageError("a number that describes a web is not negative")
        shares = (self.redirects, self.missing, self.failing, self.robots_hosts, self.slow_hosts)
        if not all(0 <= share <= 1 for share in shares):
            raise UsageError("a share is a number from 0 to 1")
        if sum(self._counts().values()) > len(self._ordinary_pages()):
            raise UsageError(
                "there are too few pages beside home pages and calendars for these shares"
            )

    @property
    def seed_url(self) -> Url:
        """The home page of the largest host."""
        return Url(self.layout.url(0))

    def reachable(
        self, seed_url: str | None = None, scope: GraphScope = "any", max_depth: int | None = None
    ) -> dict[Url, Expected]:
        """Return every URL that a crawl from there finishes, with its outcome and exact depth.

        With scope "host" the crawl stays on the host of its seed, and a redirect that leaves it
        ends as OUT_OF_SCOPE.
        """
        seed = 0 if seed_url is None else self.layout.find_url(seed_url)
        if seed is None:
            raise UsageError(f"this web has no page {seed_url!r}")
        oracle = Oracle(self.fates, self.layout.host_of, self.contents.targets, self.is_denied)
        found = oracle.reachable(seed, scope, max_depth)
        return {Url(self.layout.url(page)): expected for page, expected in found.items()}

    def describe(self, web: Web) -> None:
        """Add every host to a web."""
        slow = self._small_hosts("slow", round(self.slow_hosts * self.hosts))
        for host, name in enumerate(self.layout.host_names):
            site = web.site(name)
            delay_s = self.slow_s if host in slow else 0.0
            site.under("/", partial(self._answer, host, delay_s))
            if host in self.robots:
                site.robots(_ROBOTS)

    def serve_in_process(self) -> AbstractContextManager[GraphProcess]:
        """Serve in a process of its own, inside the `with` statement."""
        return serve_in_process(msgspec.json.encode(self), self.layout.host_names)

    def is_denied(self, page: int) -> bool:
        """Return whether the robots.txt of its host forbids a page."""
        host, path = self.layout.locate(page)
        return host in self.robots and path.startswith(PRIVATE_DIRECTORY)

    @cached_property
    def layout(self) -> Layout:
        """The hosts and paths of the pages."""
        return Layout(self.hosts, self.pages, self.skew)

    @cached_property
    def fates(self) -> Fates:
        """The fates of the pages."""
        draw = draws(f"{self.seed} fates")
        shuffled = iter(sorted(self._ordinary_pages(), key=lambda _: draw()))
        special = {
            page: fate for fate, count in self._counts().items() for page in islice(shuffled, count)
        }
        return Fates(special, self.pages, draw, loops=self.loops)

    @cached_property
    def contents(self) -> Pages:
        """The contents of the pages."""
        return Pages(self.seed, self.layout, self.calendar_hosts)

    @cached_property
    def calendar_hosts(self) -> frozenset[int]:
        """The hosts that are calendars."""
        return self._small_hosts("calendars", self.calendars)

    @cached_property
    def robots(self) -> frozenset[int]:
        """The hosts whose robots.txt forbids something."""
        count = round(self.robots_hosts * self.hosts)
        others = self._draw_hosts("robots", count - 1, range(1, self.hosts))
        return others | {0} if count else others

    def _answer(self, host: int, delay_s: float, target: str) -> Reply | Raw | None:
        """Return the answer of a host for a path and query; None if it has no such page.

        Another spelling is not found: a crawler must request the normal form.
        """
        page = self.layout.find(host, target)
        if page is None:
            return None
        match self.fates.of(page):
            case Fate.FOUND:
                return Reply(body=self.contents.html(page), delay_s=delay_s)
            case Fate.REDIRECT:
                redirect = self.fates.redirects[page]
                other, path = self.layout.locate(redirect)
                headers = {"Location": path if other == host else self.layout.url(redirect)}
                status = _REDIRECT_STATUSES[page % 5]
                return Reply(status=status, headers=headers, delay_s=delay_s)
            case Fate.SILENT:
                return Raw([KeepOpen()])
            case Fate.RESET:
                return Raw([Reset()])
            case fate:
                return Reply(status=_STATUSES[fate][page % 3], delay_s=delay_s)

    def _ordinary_pages(self) -> list[int]:
        """Return the pages that may have a special fate: no home pages, no calendars."""
        hosts = [host for host in range(self.hosts) if host not in self.calendar_hosts]
        return [page for host in hosts for page in self.layout.pages_of(host)[1:]]

    def _counts(self) -> dict[Fate, int]:
        """Return how many pages have each special fate."""
        missing, failing = round(self.missing * self.pages), round(self.failing * self.pages)
        silent = min(self.silent, failing)
        reset = min(self.reset, failing - silent)
        return {
            Fate.REDIRECT: round(self.redirects * self.pages),
            Fate.MISSING: missing - missing // 5,
            Fate.GONE: missing // 5,
            Fate.SILENT: silent,
            Fate.RESET: reset,
            Fate.SERVER_ERROR: failing - silent - reset,
        }

    def _small_hosts(self, purpose: str, count: int) -> frozenset[int]:
        """Draw hosts, but none of the largest tenth: one of those would take too long."""
        return self._draw_hosts(purpose, count, range(max(self.hosts // 10, 1), self.hosts))

    def _draw_hosts(self, purpose: str, count: int, hosts: range) -> frozenset[int]:
        draw = draws(f"{self.seed} {purpose}")
        return frozenset(sorted(hosts, key=lambda _: draw())[: max(count, 0)])
