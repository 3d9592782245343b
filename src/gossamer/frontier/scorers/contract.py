"""The contract of a scorer, which decides how soon a URL is fetched, and nothing else."""

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from gossamer.model import Candidate

FIRST: Final = 0.0
"""The score of URLs to fetch first."""
MIDDLE: Final = 50.0
"""The score of URLs about which nothing is known."""
LAST: Final = 100.0
"""The score of URLs to fetch last."""


class Scorer(Protocol):
    """A scorer of URLs, in batches. A wrong score changes the order, and never loses a page."""

    @property
    def name(self) -> str:
        """Its name on the command line and in messages."""

    @property
    def strict(self) -> bool:
        """Whether URLs are fetched exactly in the order of their scores, equal ones as they came.

        Otherwise queues are drawn at random, those of lower scores more often.
        """

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each candidate, from FIRST to LAST; never raise, never NaN."""


@runtime_checkable
class Closing(Protocol):
    """What a scorer that holds resources also has."""

    async def close(self) -> None:
        """Release everything; the scorer is not used again."""


class ReportsTrouble(Protocol):
    """What a scorer that goes on in spite of trouble may have, to report it; either may be missing.

    Without `unranked`, all URLs that it has scored while in trouble count as unranked.
    """

    @property
    def trouble(self) -> str:
        """What is wrong now, as one sentence for people; empty if nothing is."""

    @property
    def unranked(self) -> int:
        """How many URLs it could not rank so far."""


class ScorerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong with the scorer of a crawl."""

    name: str
    trouble: str
    """The last trouble, as one sentence for people."""
    unranked: int
    """How many URLs it could not rank: they were ordered in another way."""
