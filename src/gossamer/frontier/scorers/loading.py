"""The loader of scorers by name: built-in ones, entry points of packages, and the user's files.

What a name stands for is one of:

- a class with a method `score(candidates)`, sync or async, constructed without arguments;
- an object with such a method;
- a function from one `Candidate` to its score, sync or async.

Its attributes `name` and `strict`, if it has them, are used. What is sync has a thread of its own.
As it may be anybody's code, a `SafeScorer` protects the crawl from its faults.
"""

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from gossamer.frontier.scorers.builtin import (
    FIRST,
    LAST,
    MIDDLE,
    Closing,
    Depth,
    Fifo,
    Importance,
    PageNumber,
    Scorer,
)
from gossamer.model import Candidate
from gossamer.model.errors import UsageError
from gossamer.modules.calls import CallStatus, CallThread, describe, is_async, refuse_awaitable
from gossamer.modules.plugins import Plugins
from gossamer.urls import shown

T = TypeVar("T", str, int)

TIMEOUT_S: Final = 10.0
"""How long a batch may wait for its scores."""
PAGERANK: Final = "pagerank"
SCORERS: Final = Plugins(
    "scorer",
    "gossamer.scorers",
    MappingProxyType(
        {
            **{
                scorer.name: f"{scorer.__module__}:{scorer.__name__}"
                for scorer in (Depth, Fifo, Importance, PageNumber)
            },
            PAGERANK: "gossamer.frontier.scorers.pagerank:PageRank",
        }
    ),
)

Builders: TypeAlias = Mapping[str, Callable[[], Scorer]]
"""How to construct the scorers that need arguments."""


def choose(scope: str, pagerank_key: str | None) -> str:
    """Return the name of the scorer that fits a crawl of this scope.

    On one host all pages have the same rank of the domain, so the depth decides.
    """
    if scope in {"host", "prefix"}:
        return Depth.name
    return PAGERANK if pagerank_key else Importance.name


def load(name: str, builders: Builders = MappingProxyType({})) -> "SafeScorer":
    """Return the scorer of that name or reference, wrapped; `UsageError` if there is none."""
    scorer = builders[name]() if name in builders else SCORERS.find(name)
    if isinstance(scorer, type):
        scorer = _constructed(scorer, name)
    if not callable(getattr(scorer, "score", None)):
        if not callable(scorer):
            raise UsageError(
                f"scorer {shown(name)} is neither a function nor an object with a method 'score'"
            )
        scorer = (_AsyncFunctionScorer if is_async(scorer) else _FunctionScorer)(scorer)
    own_name = getattr(scorer, "name", None)
    return SafeScorer(
        cast("LooseScorer", scorer),
        own_name if isinstance(own_name, str) else name,
        strict=is_strict(scorer),
    )


def is_strict(scorer: object) -> bool:
    """Return whether URLs are to be fetched exactly in the order of the scores."""
    return getattr(scorer, "strict", False) is True


class _AsyncFunctionScorer:
    """A scorer that calls an async function for each candidate."""

    def __init__(self, function: Callable[[Candidate], Awaitable[object]]) -> None:
        self.strict = is_strict(function)
        self._function = function

    async def score(self, candidates: Sequence[Candidate]) -> list[object]:
        """Return what the function returns for each; `SafeScorer` checks it."""
        return [await self._function(candidate) for candidate in candidates]


class _FunctionScorer:
    """A scorer that calls a function for each candidate."""

    def __init__(self, function: Callable[[Candidate], object]) -> None:
        self.strict = is_strict(function)
        self._function = function

    def score(self, candidates: Sequence[Candidate]) -> Iterator[object]:
        """Yield what the function returns for each: what comes in time counts."""
        for candidate in candidates:
            score = self._function(candidate)
            if inspect.isawaitable(score):
                refuse_awaitable(score)
            yield score


def _constructed(scorer: type, name: str) -> object:
    try:
        return scorer()
    except Exception as error:
        raise UsageError(f"scorer {shown(name)} cannot be created: {describe(error)}") from error


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
        """Return what the scorer itself reports under that name, if it does.

        That may be its `trouble`, what is wrong now in one sentence, and as `unranked` how many
        URLs it could not rank. Without `unranked`, all that it has scored while in trouble count.
        """
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
