"""Breadth first."""

from collections.abc import Sequence

from gossamer.model import Candidate


class Depth:
    """Takes the pages nearest to a seed first."""

    name = "depth"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 0 for seeds, 50 for depth 1, 66.7 for depth 2 and so on towards 100.

        Deeper never scores lower, and higher up to a depth of about 90 million, where the
        difference becomes smaller than a float can hold.
        """
        # The quotient of two integers is correctly rounded: no depth is out of order or range.
        return [100 * candidate.depth / (1 + candidate.depth) for candidate in candidates]
