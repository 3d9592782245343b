"""The loader of scorers by name: built-in ones, entry points of packages, and the user's files.

What a name stands for is one of:

- a class with a method `score(candidates)`, sync or async, constructed without arguments;
- an object with such a method;
- a function from one `Candidate` to its score, sync or async.

Its attributes `name` and `strict`, if it has them, are used. What is sync has a thread of its own.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from gossamer.frontier.scorers.builtin import Depth, Fifo, Importance, PageNumber
from gossamer.frontier.scorers.contract import Scorer
from gossamer.frontier.scorers.safe import LooseScorer, SafeScorer
from gossamer.model import Candidate
from gossamer.model.errors import UsageError
from gossamer.modules.calls import describe, is_async, refuse_awaitable
from gossamer.modules.plugins import Plugins
from gossamer.urls import shown

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


def load(name: str, builders: Builders = MappingProxyType({})) -> SafeScorer:
    """Return the scorer of that name or reference, wrapped; `UsageError` if there is none."""
    found = builders[name]() if name in builders else SCORERS.find(name)
    scorer = _constructed(found, name) if isinstance(found, type) else found
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
        return [await self._function(one) for one in candidates]


class _FunctionScorer:
    """A scorer that calls a function for each candidate."""

    def __init__(self, function: Callable[[Candidate], object]) -> None:
        self.strict = is_strict(function)
        self._function = function

    def score(self, candidates: Sequence[Candidate]) -> Iterator[object]:
        """Yield what the function returns for each: what comes in time counts."""
        for one in candidates:
            score = self._function(one)
            if inspect.isawaitable(score):
                refuse_awaitable(score)
            yield score


def _constructed(scorer: type, name: str) -> object:
    try:
        return scorer()
    except Exception as error:
        raise UsageError(f"scorer {shown(name)} cannot be created: {describe(error)}") from error
