"""A fence around scorers, which may be anybody's code."""

import asyncio
import inspect
import traceback
from collections.abc import Sequence
from typing import Final, Protocol

from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE, Closing, Troubled
from gossamer.model import Candidate
from gossamer.urls import shown

TIMEOUT_S: Final = 10.0
"""How long a batch may wait for its scores."""


class LooseScorer(Protocol):
    """What is asked of a user's scorer: `Scorer`, except that its word is not yet trusted."""

    def score(self, candidates: Sequence[Candidate], /) -> object:
        """Return the scores, or an awaitable of them."""


class SafeScorer:
    """Keeps the promises of `Scorer` for a scorer that may break them.

    An exception, a wait without end and a wrong number of scores put the whole batch in the
    middle; a score that is none, the one URL. Each is counted, and the last one remembered.
    """

    def __init__(
        self, scorer: LooseScorer, name: str, *, strict: bool = False, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.name = name
        self.strict = strict
        self._scorer = scorer
        self._timeout_s = timeout_s
        self._failures = 0
        self._failure = ""

    def __repr__(self) -> str:
        return f"<SafeScorer {self.name}: {self._failures} failures>"

    @property
    def failures(self) -> int:
        """How often it broke a promise."""
        return self._failures

    @property
    def trouble(self) -> str:
        """What was wrong last, or is wrong at present as the scorer itself says."""
        own = self._scorer.trouble if isinstance(self._scorer, Troubled) else ""
        return self._failure or own

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score from FIRST to LAST for each candidate, come what may."""
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = self._scorer.score(candidates)
                scores = await answer if inspect.isawaitable(answer) else answer
            return self._checked(scores, len(candidates))
        except TimeoutError:
            self._note(f"took longer than {self._timeout_s:g} s")
        except Exception as error:  # noqa: BLE001 - anybody's code may raise anything
            self._note(f"raised {_in_words(error)}")
        return [MIDDLE] * len(candidates)

    async def close(self) -> None:
        """Close the scorer, if it can be closed."""
        if not isinstance(self._scorer, Closing):
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._scorer.close()
        except Exception as error:  # noqa: BLE001 - anybody's code may raise anything
            self._note(f"raised, when it was closed, {_in_words(error)}")

    def _checked(self, scores: object, count: int) -> list[float]:
        if not isinstance(scores, Sequence):
            self._note(f"returned {type(scores).__name__}, which is no list of scores")
            return [MIDDLE] * count
        if len(scores) != count:
            self._note(f"returned {len(scores)} scores for {count} candidates")
            return [MIDDLE] * count
        return [self._checked_one(score) for score in scores]

    def _checked_one(self, score: object) -> float:
        if (
            isinstance(score, int | float)
            and not isinstance(score, bool)
            and FIRST <= score <= LAST
        ):
            return float(score)
        self._note(f"returned {score!r:.100}, which is no number from {FIRST:g} to {LAST:g}")
        return MIDDLE

    def _note(self, what: str) -> None:
        self._failures += 1
        times = "" if self._failures == 1 else f" ({self._failures} failures so far)"
        self._failure = f"the scorer {self.name} {what}{times}"


def _in_words(error: Exception) -> str:
    """Return the class and message, fit for a terminal, even where the message cannot be had."""
    return shown(traceback.format_exception_only(error)[-1].strip(), 150)
