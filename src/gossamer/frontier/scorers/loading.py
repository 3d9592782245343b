"""The loader of scorers by name: built-in ones, entry points of packages, and the user's files.

What a name stands for is one of:

- a class with a method `score(candidates)`, sync or async, constructed without arguments;
- an object with such a method;
- a function from one `Candidate` to its score, sync or async.

Its attributes `name` and `strict`, if it has them, are used.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from gossamer.errors import UsageError
from gossamer.frontier.scorers.contract import Scorer
from gossamer.frontier.scorers.depth import Depth
from gossamer.frontier.scorers.fifo import Fifo
from gossamer.frontier.scorers.function import FunctionScorer
from gossamer.frontier.scorers.importance import Importance
from gossamer.frontier.scorers.page_number import PageNumber
from gossamer.frontier.scorers.pagerank import PageRank
from gossamer.frontier.scorers.safe import LooseScorer, SafeScorer
from gossamer.plugins import Plugins, describe
from gossamer.urls import shown

SCORERS: Final = Plugins(
    "scorer",
    "gossamer.scorers",
    MappingProxyType(
        {
            scorer.name: f"{scorer.__module__}:{scorer.__name__}"
            for scorer in (Depth, Fifo, Importance, PageNumber, PageRank)
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
    return PageRank.name if pagerank_key else Importance.name


def load(name: str, builders: Builders = MappingProxyType({})) -> SafeScorer:
    """Return the scorer of that name or reference, wrapped; `UsageError` if there is none."""
    found = builders[name]() if name in builders else SCORERS.find(name)
    scorer = _constructed(found, name) if isinstance(found, type) else found
    if not callable(getattr(scorer, "score", None)):
        if not callable(scorer):
            raise UsageError(f"scorer {shown(name)} is neither a scorer nor a function")
        scorer = FunctionScorer(scorer)
    own_name = getattr(scorer, "name", None)
    return SafeScorer(
        cast("LooseScorer", scorer),
        own_name if isinstance(own_name, str) else name,
        strict=is_strict(scorer),
    )


def is_strict(scorer: object) -> bool:
    """Return whether URLs are to be fetched exactly in the order of the scores."""
    return getattr(scorer, "strict", False) is True


def _constructed(scorer: type, name: str) -> object:
    try:
        return scorer()
    except Exception as error:
        raise UsageError(f"scorer {shown(name)} cannot be created: {describe(error)}") from error
