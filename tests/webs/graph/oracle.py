"""The oracle: the expected result of a crawl, found by a plain search of the description.

It shares no code with the crawler, so that no mistake can hide in both.
"""

from collections.abc import Callable
from typing import Literal

import msgspec
from tests.webs.graph.fates import Fate, Fates

from gossamer.model import Outcome

GraphScope = Literal["any", "host"]

_OUTCOMES = {
    Fate.FOUND: Outcome.FETCHED,
    Fate.REDIRECT: Outcome.REDIRECTED,
    Fate.MISSING: Outcome.NOT_FOUND,
    Fate.GONE: Outcome.GONE,
    Fate.SERVER_ERROR: Outcome.SERVER_ERROR,
    Fate.SILENT: Outcome.TIMED_OUT,
    Fate.RESET: Outcome.CONNECTION_FAILED,
}


class Expected(msgspec.Struct, frozen=True):
    """The expected outcome and depth of a URL."""

    outcome: Outcome
    depth: int
    """The number of links on the shortest path from the seed; redirects do not count."""
    loops: bool = False
    """Whether this is a redirect that never leads to a page. Where a crawler notices the ring
    depends on where it entered: the URL may also end as BAD_REDIRECT."""

    def allows(self, outcome: Outcome) -> bool:
        """Return whether this outcome is correct."""
        return outcome is self.outcome or (self.loops and outcome is Outcome.BAD_REDIRECT)


class Oracle(msgspec.Struct, frozen=True):
    """A breadth-first search of the description of a web."""

    fates: Fates
    host_of: Callable[[int], int]
    targets: Callable[[int], list[int]]
    is_denied: Callable[[int], bool]

    def reachable(self, seed: int, scope: GraphScope, max_depth: int | None) -> dict[int, Expected]:
        """Return what is expected of every page within the depth, nearest first."""
        only_host = self.host_of(seed) if scope == "host" else None
        found: dict[int, Expected] = {}
        depth, level = 0, [seed]
        while level:
            links: list[int] = []
            while level:
                page = level.pop()
                if page in found:
                    continue
                expected = found[page] = self._expected(page, depth, only_host)
                if expected.outcome is Outcome.REDIRECTED:
                    level.append(self.fates.redirects[page])
                elif expected.outcome is Outcome.FETCHED and depth != max_depth:
                    links += self.targets(page)
            depth, level = depth + 1, [page for page in links if self._admits(page, only_host)]
        return found

    def _expected(self, page: int, depth: int, only_host: int | None) -> Expected:
        if self.is_denied(page):
            return Expected(Outcome.ROBOTS_DENIED, depth)
        fate = self.fates.of(page)
        if fate is Fate.REDIRECT and not self._admits(self.fates.redirects[page], only_host):
            return Expected(Outcome.OUT_OF_SCOPE, depth)
        return Expected(_OUTCOMES[fate], depth, page in self.fates.looping)

    def _admits(self, page: int, only_host: int | None) -> bool:
        return only_host is None or self.host_of(page) == only_host
