"""The wrapper that protects a crawl from faulty scorers, which may be anybody's code."""

import asyncio
import inspect
import traceback
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE, Closing
from gossamer.model import Candidate
from gossamer.urls import shown

T = TypeVar("T", str, int)

TIMEOUT_S: Final = 10.0
"""How long a batch may wait for its scores."""


class LooseScorer(Protocol):
    """A user's scorer: like `Scorer`, but its results are unchecked."""

    def score(self, candidates: Sequence[Candidate], /) -> object:
        """Return the scores, or an awaitable of them."""


class SafeScorer:
    """A wrapper that fulfils the contract of `Scorer` for a scorer that may break it.

    After an exception, a timeout or a wrong number of scores the whole batch gets the middle score;
    after one invalid score that URL does. Failures are counted, and the last one is remembered.
    """

    def __init__(
        self, scorer: LooseScorer, name: str, *, strict: bool = False, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.name = name
        self.strict = strict
        self._scorer = scorer
        self._timeout_s = timeout_s
        self.failures = 0
        """How often the scorer failed."""
        self._failure = ""
        self._unscored = 0
        """How many URLs got the middle score for that."""

    def __repr__(self) -> str:
        return f"<SafeScorer {self.name}: {self.failures} failures>"

    @property
    def trouble(self) -> str:
        """The last failure, or else the trouble that the scorer itself reports."""
        return self._failure or self._reported("trouble", "")

    @property
    def unranked(self) -> int:
        """How many URLs could not be ranked."""
        return self._unscored + self._reported("unranked", 0)

    def _reported(self, name: str, nothing: T) -> T:
        """Return what the scorer itself reports under that name (`Troubled`), if it does."""
        try:
            value = getattr(self._scorer, name, nothing)
        except Exception:  # noqa: BLE001 - a user's code may raise anything
            return nothing
        return value if isinstance(value, type(nothing)) else nothing

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score from FIRST to LAST for each candidate, whatever the scorer does."""
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = self._scorer.score(candidates)
                scores = await answer if inspect.isawaitable(answer) else answer
            if self._reported("trouble", "") and not hasattr(self._scorer, "unranked"):
                self._unscored += len(candidates)
            return self._checked(scores, len(candidates))
        except TimeoutError:
            self._note(f"took longer than {self._timeout_s:g} s", len(candidates))
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything
            self._note(f"raised {_in_words(error)}", len(candidates))
        return [MIDDLE] * len(candidates)

    async def close(self) -> None:
        """Close the scorer, if it can be closed."""
        if not isinstance(self._scorer, Closing):
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._scorer.close()
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything
            self._note(f"raised {_in_words(error)} when it was closed")

    def _checked(self, scores: object, count: int) -> list[float]:
        if not isinstance(scores, Sequence):
            self._note(f"returned {type(scores).__name__}, which is not a list of scores", count)
            return [MIDDLE] * count
        if len(scores) != count:
            self._note(f"returned {len(scores)} scores for {count} candidates", count)
            return [MIDDLE] * count
        return [self._checked_one(score) for score in scores]

    def _checked_one(self, score: object) -> float:
        if (
            isinstance(score, int | float)
            and not isinstance(score, bool)
            and FIRST <= score <= LAST
        ):
            return float(score)
        self._note(f"returned {score!r:.100}, which is not a number from {FIRST:g} to {LAST:g}", 1)
        return MIDDLE

    def _note(self, what: str, unscored: int = 0) -> None:
        self.failures += 1
        self._unscored += unscored
        times = "" if self.failures == 1 else f" ({self.failures} failures so far)"
        self._failure = f"the scorer {self.name} {what}{times}"


def _in_words(error: Exception) -> str:
    """Return the class and message, safe for a terminal, also if the message cannot be read."""
    return shown(traceback.format_exception_only(error)[-1].strip(), 150)
