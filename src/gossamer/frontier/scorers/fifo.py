"""The scorer `fifo`: the order of discovery."""

from collections.abc import Sequence

from gossamer.frontier.scorers.contract import MIDDLE
from gossamer.model import Candidate


class Fifo:
    """Fetches URLs in the order in which they were found."""

    name = "fifo"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return the same score for all."""
        return [MIDDLE] * len(candidates)
