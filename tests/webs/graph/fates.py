"""The fates of pages: most are found, some are redirects, missing or fail."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import cycle, islice, pairwise

from gossamer.testing.simulator.fault import NextRandom

_CHAIN_LENGTHS = (1, 1, 1, 1, 1, 2, 1, 1, 3, 5)
"""The lengths of chains of redirects: every crawler follows the longest."""
_RING_LENGTHS = (1, 2, 3)
_RING_SHARE = 0.1
_NEIGHBOURHOOD = 20


class Fate(Enum):
    """The result of a request for a page."""

    FOUND = auto()
    REDIRECT = auto()
    MISSING = auto()
    GONE = auto()
    SERVER_ERROR = auto()
    SILENT = auto()
    """The server accepts the request and never answers."""
    RESET = auto()
    """The server resets the connection."""


class Fates:
    """The fate of every page, given those of the special ones.

    A redirect leads to a page that is found, directly or over others; with `loops`, some form a
    ring of one, two or three.
    """

    def __init__(
        self, special: dict[int, Fate], pages: int, draw: NextRandom, *, loops: bool
    ) -> None:
        self._special = special
        self._found = [page for page in range(pages) if page not in special]
        self._draw = draw
        redirects = [page for page, fate in special.items() if fate is Fate.REDIRECT]
        in_rings = round(len(redirects) * _RING_SHARE) if loops else 0
        self.looping = frozenset(redirects[:in_rings])
        """The redirects that never lead to a page."""
        self.redirects: dict[int, int] = {}
        """Where each redirect leads."""
        for ring in _cut(redirects[:in_rings], _RING_LENGTHS):
            self.redirects.update(pairwise([*ring, ring[0]]))
        for chain in _cut(redirects[in_rings:], _CHAIN_LENGTHS):
            self.redirects.update(pairwise([*chain, self._destination(chain[-1])]))

    def of(self, page: int) -> Fate:
        """Return the fate of the page, if robots.txt allows the request."""
        return self._special.get(page, Fate.FOUND)

    def _destination(self, page: int) -> int:
        """Draw the end of a chain: as often a neighbour, mostly on the same host, as any page."""
        index = int(self._draw() * len(self._found))
        if self._draw() < 0.5:
            index = bisect_left(self._found, page) + index % _NEIGHBOURHOOD - _NEIGHBOURHOOD // 2
        return self._found[min(max(index, 0), len(self._found) - 1)]


def _cut(pages: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Cut the pages into pieces of these lengths, over and over; the last may be shorter."""
    rest, endless = iter(pages), cycle(lengths)
    while piece := list(islice(rest, next(endless))):
        yield piece
