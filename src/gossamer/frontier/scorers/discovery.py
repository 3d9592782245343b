"""The scorers `depth` (breadth first) and `fifo` (the order of discovery)."""

from collections.abc import Sequence

from gossamer.frontier.scorers.contract import MIDDLE
from gossamer.model import Candidate


class Depth:
    """Fetches the pages nearest to a seed first."""

    name = "depth"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 0 for seeds, 50 for depth 1, 66.7 for depth 2 and so on towards 100.

        A deeper page never scores lower, and scores higher up to a depth of about 90 million, where
        the difference becomes too small for a float.
        """
        # The quotient of two integers is correctly rounded: no depth is out of order or range.
        return [100 * candidate.depth / (1 + candidate.depth) for candidate in candidates]


class Fifo:
    """Fetches URLs in the order in which they were found."""

    name = "fifo"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return the same score for all."""
        return [MIDDLE] * len(candidates)
