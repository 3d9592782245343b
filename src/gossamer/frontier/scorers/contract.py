"""What a scorer is: it says how soon a URL shall be fetched, and nothing else."""

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from gossamer.model import Candidate

FIRST: Final = 0.0
"""The score of what shall be fetched first."""
MIDDLE: Final = 50.0
"""The score of what nothing is known of."""
LAST: Final = 100.0
"""The score of what shall be fetched last."""


class Scorer(Protocol):
    """Scores URLs in batches. A wrong score costs order, never a page."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in messages."""

    @property
    def strict(self) -> bool:
        """Whether URLs are taken exactly in the order of their scores, equal ones as they came.

        Otherwise queues are drawn at random, those of lower scores more often.
        """

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each candidate, from FIRST to LAST; never raise, never NaN."""


@runtime_checkable
class Closing(Protocol):
    """A scorer that holds something open may have this as well."""

    async def close(self) -> None:
        """Let go of everything; the scorer is not used again."""


@runtime_checkable
class Troubled(Protocol):
    """A scorer that goes on in spite of trouble may say so."""

    @property
    def trouble(self) -> str:
        """What is wrong at present, as one sentence for people; empty when all is well."""
