"""References: what an element of a page leads to, for all elements but `a` and `area`."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from gossamer.content.relations import kind_of_relation
from gossamer.kinds import LinkKind

Reference: TypeAlias = tuple[LinkKind, str]
"""The kind of a link, and where it leads as the page has it."""


class Tag(Protocol):
    """An element, as far as it is a tag with attributes."""

    @property
    def tag(self) -> str:
        """Its name, in lower case."""

    @property
    def text(self) -> str:
        """The text in it."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute; None if there is none of this name."""


_MAX_CANDIDATES: Final = 100
# HTML standard, "parse a srcset attribute": a URL, which a comma at its end ends; or a descriptor,
# in which parentheses may hold commas.
_CANDIDATE: Final = re.compile(r"[\t\n\f\r ,]*([^\t\n\f\r ]++)")
_DESCRIPTOR: Final = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+,?")

_RELATED: Final = frozenset(
    {
        *(LinkKind.NEXT, LinkKind.PREV, LinkKind.ALTERNATE, LinkKind.CANONICAL),
        *(LinkKind.STYLESHEET, LinkKind.SCRIPT, LinkKind.FONT, LinkKind.IMAGE, LinkKind.MEDIA),
    }
)
_ELEMENTS: Final[Mapping[str, frozenset[LinkKind]]] = MappingProxyType(
    {
        "frame": frozenset({LinkKind.FRAME}),
        "iframe": frozenset({LinkKind.IFRAME}),
        "link": _RELATED,
        "img": frozenset({LinkKind.IMAGE}),
        "input": frozenset({LinkKind.IMAGE}),
        "source": frozenset({LinkKind.IMAGE, LinkKind.MEDIA}),
        "audio": frozenset({LinkKind.MEDIA}),
        "video": frozenset({LinkKind.IMAGE, LinkKind.MEDIA}),
        "track": frozenset({LinkKind.MEDIA}),
        "embed": frozenset({LinkKind.OBJECT}),
        "object": frozenset({LinkKind.OBJECT}),
        "script": frozenset({LinkKind.SCRIPT}),
    }
)
_SOURCES: Final[Mapping[str, LinkKind]] = MappingProxyType(
    {
        "frame": LinkKind.FRAME,
        "iframe": LinkKind.IFRAME,
        "img": LinkKind.IMAGE,
        "source": LinkKind.MEDIA,
        "audio": LinkKind.MEDIA,
        "video": LinkKind.MEDIA,
        "track": LinkKind.MEDIA,
        "embed": LinkKind.OBJECT,
        "script": LinkKind.SCRIPT,
    }
)
"""What the attribute `src` of an element leads to."""


def tags_for(follow: frozenset[LinkKind]) -> list[str]:
    """Return the elements that may have links of these kinds."""
    return [tag for tag, kinds in _ELEMENTS.items() if not kinds.isdisjoint(follow)]


def references_of(element: Tag) -> Iterator[Reference]:
    """Yield all references of an element that has no `rel`, of whatever kind."""
    tag = element.tag
    special = _SPECIAL.get(tag)
    if special is not None:
        yield from special(element)
    kind = _SOURCES.get(tag)
    if kind is not None and (source := element.attr("src")):
        yield kind, source


def relation_of(element: Tag) -> LinkKind | None:
    """Return the kind of an element with `rel`; None if that says nothing that we know."""
    rel = element.attr("rel")
    if not rel:
        return None
    return kind_of_relation(rel, element.attr("as") if "preload" in rel.lower() else None)


def _images(element: Tag) -> Iterator[Reference]:
    for candidate in _candidates(element.attr("srcset") or ""):
        yield LinkKind.IMAGE, candidate


def _poster(element: Tag) -> Iterator[Reference]:
    if poster := element.attr("poster"):
        yield LinkKind.IMAGE, poster


def _button(element: Tag) -> Iterator[Reference]:
    source = element.attr("src")
    if source and (element.attr("type") or "").strip().lower() == "image":
        yield LinkKind.IMAGE, source


def _data(element: Tag) -> Iterator[Reference]:
    if data := element.attr("data"):
        yield LinkKind.OBJECT, data


_SPECIAL: Final[Mapping[str, Callable[[Tag], Iterator[Reference]]]] = MappingProxyType(
    {
        "img": _images,
        "source": _images,
        "video": _poster,
        "input": _button,
        "object": _data,
    }
)


def _candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a srcset attribute, up to a limit."""
    position = 0
    for _ in range(_MAX_CANDIDATES):
        match = _CANDIDATE.match(srcset, position)
        if match is None:
            return
        position = match.end()
        url = match[1]
        if url.endswith(","):
            url = url.rstrip(",")
        elif (descriptor := _DESCRIPTOR.match(srcset, position)) is not None:
            position = descriptor.end()
        if url:
            yield url
