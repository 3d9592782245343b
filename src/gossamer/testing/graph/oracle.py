"""What a crawl of the web must come to, found by a plain search of its description.

Nothing here is shared with the crawler: a mistake would have to be made twice to go unseen.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from gossamer.model import Outcome
from gossamer.testing.graph.fates import Fate, Fates

GraphScope = Literal["any", "host"]

_OUTCOMES: Mapping[Fate, Outcome] = MappingProxyType(
    {
        Fate.FOUND: Outcome.FETCHED,
        Fate.REDIRECT: Outcome.REDIRECTED,
        Fate.MISSING: Outcome.NOT_FOUND,
        Fate.GONE: Outcome.GONE,
        Fate.SERVER_ERROR: Outcome.SERVER_ERROR,
        Fate.SILENT: Outcome.TIMED_OUT,
        Fate.RESET: Outcome.CONNECTION_FAILED,
    }
)


class Expected(msgspec.Struct, frozen=True):
    """How a URL must end, and how far it is from the seed."""

    outcome: Outcome
    depth: int
    """The number of links on the shortest way from the seed; redirects count nothing."""
    loops: bool = False
    """Whether this is a redirect that never comes to a page. Where in the ring a crawler sees
    that depends on where it came in: the URL may also end as BAD_REDIRECT."""

    def allows(self, outcome: Outcome) -> bool:
        """Tell whether a crawl may end the URL so."""
        return outcome is self.outcome or (self.loops and outcome is Outcome.BAD_REDIRECT)


class Oracle:
    """Searches the description of a web, breadth first."""

    def __init__(
        self,
        fates: Fates,
        host_of: Callable[[int], int],
        targets: Callable[[int], list[int]],
        is_denied: Callable[[int], bool],
    ) -> None:
        self._fates = fates
        self._host_of = host_of
        self._targets = targets
        self._is_denied = is_denied

    def reachable(self, seed: int, scope: GraphScope, max_depth: int | None) -> dict[int, Expected]:
        """Return what is expected of every page within the depth, nearest first."""
        only_host = self._host_of(seed) if scope == "host" else None
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
                    level.append(self._fates.redirects[page])
                elif expected.outcome is Outcome.FETCHED and depth != max_depth:
                    links += self._targets(page)
            depth, level = depth + 1, [page for page in links if self._admits(page, only_host)]
        return found

    def _expected(self, page: int, depth: int, only_host: int | None) -> Expected:
        if self._is_denied(page):
            return Expected(Outcome.ROBOTS_DENIED, depth)
        fate = self._fates.of(page)
        if fate is Fate.REDIRECT and not self._admits(self._fates.redirects[page], only_host):
            return Expected(Outcome.OUT_OF_SCOPE, depth)
        return Expected(_OUTCOMES[fate], depth, page in self._fates.looping)

    def _admits(self, page: int, only_host: int | None) -> bool:
        return only_host is None or self._host_of(page) == only_host
