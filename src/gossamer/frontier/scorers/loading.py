"""Scorers by name: our own, those that installed packages announce, and the user's files.

A package announces a scorer under the entry point group `gossamer.scorers`. What is announced or
referred to is one of these:

- a class with a method `score(candidates)`, sync or async, made without arguments;
- an object with such a method;
- a function from one `Candidate` to its score, sync or async.

Where it has attributes `name` and `strict`, they count.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from gossamer.errors import UsageError
from gossamer.frontier.scorers.contract import Scorer
from gossamer.frontier.scorers.depth import Depth
from gossamer.frontier.scorers.fifo import Fifo
from gossamer.frontier.scorers.function import FunctionScorer
from gossamer.frontier.scorers.importance import Importance
from gossamer.frontier.scorers.page_number import PageNumber
from gossamer.frontier.scorers.pagerank import PageRank
from gossamer.frontier.scorers.references import load_object, suggestion
from gossamer.frontier.scorers.safe import LooseScorer, SafeScorer
from gossamer.urls import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "gossamer.scorers"

BUILT_IN: Mapping[str, type[Scorer]] = MappingProxyType(
    {scorer.name: scorer for scorer in (Depth, Fifo, Importance, PageNumber, PageRank)}
)

Builders: TypeAlias = Mapping[str, Callable[[], Scorer]]
"""How to make the scorers that need more than their name."""


class ScorerInfo(msgspec.Struct, frozen=True):
    """A line of the list of scorers."""

    name: str
    summary: str
    strict: bool
    origin: str
    """The distribution that brings it."""


def choose(scope: str, pagerank_key: str | None) -> str:
    """Return the name of the scorer that fits a crawl of this scope.

    On one host, nearness to the seed tells pages apart and the rank of the domain does not.
    """
    if scope in {"host", "prefix"}:
        return Depth.name
    return PageRank.name if pagerank_key else Importance.name


def available() -> list[ScorerInfo]:
    """Return every scorer that has a name, by name; those of packages are imported for it."""
    infos = [_info(name, scorer, "gossamer") for name, scorer in BUILT_IN.items()]
    for name, announced in _announced().items():
        origin = announced.dist.name if announced.dist else "?"
        try:
            infos.append(_info(name, _loaded(announced), origin))
        except UsageError as error:
            infos.append(ScorerInfo(name, str(error), strict=False, origin=origin))
    return sorted(infos, key=lambda info: info.name)


def load(name: str, builders: Builders = MappingProxyType({})) -> SafeScorer:
    """Return the scorer of that name or reference, fenced in; `UsageError` if there is none."""
    if name in builders:
        return _fenced(builders[name](), name)
    if name in BUILT_IN:
        return _fenced(BUILT_IN[name], name)
    announced = _announced()
    if name in announced:
        return _fenced(_loaded(announced[name]), name)
    if ":" in name:
        return _fenced(load_object(name), name)
    known = [*BUILT_IN, *announced]
    raise UsageError(
        f"There is no scorer {shown(name)}{suggestion(name, known)} "
        f"Known are {', '.join(sorted(known))}; others go by package.module:name or ./file.py:name."
    )


def _announced() -> "dict[str, EntryPoint]":
    """Return what installed packages announce; a name of ours stays ours."""
    # Costs more to load than all of our own scorers, and is seldom needed.
    from importlib.metadata import entry_points  # noqa: PLC0415

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


def _fenced(found: object, name: str) -> SafeScorer:
    scorer = _made(found, name) if isinstance(found, type) else found
    if not callable(getattr(scorer, "score", None)):
        if not callable(scorer):
            raise UsageError(f"{shown(name)} is neither a scorer nor a function.")
        scorer = FunctionScorer(scorer)
    own_name = getattr(scorer, "name", None)
    return SafeScorer(
        cast("LooseScorer", scorer),
        own_name if isinstance(own_name, str) else name,
        strict=getattr(scorer, "strict", False) is True,
    )


def _made(scorer: type, name: str) -> object:
    try:
        return scorer()
    except Exception as error:
        raise UsageError(f"The scorer {shown(name)} cannot be made: {error}") from error


def _loaded(announced: "EntryPoint") -> object:
    try:
        return announced.load()
    except Exception as error:
        raise UsageError(
            f"The scorer {shown(announced.name)} cannot be imported: {error}"
        ) from error


def _info(name: str, found: object, origin: str) -> ScorerInfo:
    summary = (found.__doc__ or "").strip().partition("\n")[0]
    return ScorerInfo(name, summary, strict=getattr(found, "strict", False) is True, origin=origin)
