"""The wrapper that protects a crawl from faulty scorers, which may be anybody's code."""

import asyncio
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE, Closing
from gossamer.model import Candidate
from gossamer.modules.calls import CallStatus, CallThread, is_async
from gossamer.urls import shown

T = TypeVar("T", str, int)

TIMEOUT_S: Final = 10.0
"""How long a batch may wait for its scores."""


class LooseScorer(Protocol):
    """A user's scorer: like `Scorer`, but its results are unchecked."""

    def score(self, candidates: Sequence[Candidate], /) -> Any:  # noqa: ANN401 -- anybody's code
        """Return the scores, or an iterator or an awaitable of them."""


class _Batch:
    """A batch that is scored in a thread, which may take too long."""

    def __init__(self, scorer: LooseScorer, candidates: Sequence[Candidate]) -> None:
        self._scorer = scorer
        self._candidates = candidates
        self.scores: list[object] = []
        """What an iterator has given so far."""
        self.is_over = False
        """Nobody waits for the rest."""

    def score(self) -> object:
        """Return the scores; this is what the thread runs."""
        answer = self._scorer.score(self._candidates)
        if not isinstance(answer, Iterator):
            return answer
        for score in answer:
            self.scores.append(score)
            if self.is_over or len(self.scores) > len(self._candidates):
                break
        return self.scores


class SafeScorer:
    """A wrapper that fulfils the contract of `Scorer` for a scorer that may break it.

    After an exception, a timeout or a wrong number of scores the whole batch gets the middle score;
    after one invalid score that URL does. Failures are counted, and the last one is remembered.
    A synchronous scorer has a thread. While a call there does not return, no other is made.
    """

    def __init__(
        self, scorer: LooseScorer, name: str, *, strict: bool = False, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.name = name
        self.strict = strict
        self._scorer = scorer
        self._timeout_s = timeout_s
        self._thread: CallThread | None = None
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
        """Return what the scorer itself reports under that name, if it does (`ReportsTrouble`)."""
        try:
            value = getattr(self._scorer, name, nothing)
        except Exception:  # noqa: BLE001 - a user's code may raise anything
            return nothing
        return value if isinstance(value, type(nothing)) else nothing

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score from FIRST to LAST for each candidate, whatever the scorer does."""
        if not is_async(self._scorer.score):
            return await self._score_in_thread(candidates)
        try:
            async with asyncio.timeout(self._timeout_s):
                scores = await self._scorer.score(candidates)
            return self._checked(scores, len(candidates))
        except TimeoutError:
            self._note(f"took longer than {self._timeout_s:g} s", len(candidates))
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything
            self._note(f"raised {_in_words(error)}", len(candidates))
        return [MIDDLE] * len(candidates)

    async def _score_in_thread(self, candidates: Sequence[Candidate]) -> list[float]:
        if self._thread is None:
            self._thread = CallThread(f"scorer {self.name}", asyncio.get_running_loop())
        batch, count = _Batch(self._scorer, candidates), len(candidates)
        try:
            result = await self._thread.begin(batch.score, (), self._timeout_s)
        finally:
            batch.is_over = True
        in_time: list[object] = []
        match result.status:
            case CallStatus.RETURNED:
                return self._checked(result.value, count)
            case CallStatus.RAISED:
                assert result.error is not None
                self._note(f"raised {_in_words(result.error)}", count)
            case CallStatus.TIMED_OUT:
                in_time = batch.scores[:count]
                self._note(f"took longer than {self._timeout_s:g} s", count - len(in_time))
            case CallStatus.MISSED:
                self._note(f"still runs after {self._timeout_s:g} s", count)
        return [*map(self._checked_one, in_time), *[MIDDLE] * (count - len(in_time))]

    async def close(self) -> None:
        """Close the scorer, if it can be closed."""
        if self._thread is not None:
            self._thread.stop()
        if not isinstance(self._scorer, Closing):
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._scorer.close()
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything
            self._note(f"raised {_in_words(error)} when it was closed")

    def _checked(self, scores: object, count: int) -> list[float]:
        if self._reported("trouble", "") and not hasattr(self._scorer, "unranked"):
            self._unscored += count
        if not isinstance(scores, Sequence):
            self._note(f"returned {type(scores).__name__}, which is not a list of scores", count)
            return [MIDDLE] * count
        if len(scores) != count:
            self._note(f"gave {len(scores)} of {count} scores", count)
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


def _in_words(error: BaseException) -> str:
    """Return the class and message, safe for a terminal, also if the message cannot be read."""
    return shown(traceback.format_exception_only(error)[-1].strip(), 150)
