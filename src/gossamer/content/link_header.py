"""The parser of the Link header (RFC 8288), for the links that a server adds to a page.

It goes by the algorithm of the standard's appendix B.2: what cannot be parsed ends the field, and
the links before it count. A link with an anchor is about another page, and is left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Final

import msgspec

from gossamer.model.names import LinkKind

MAX_HEADER_LINKS: Final = 100
"""Links of a page's header beyond this many are ignored."""

_TARGET: Final = re.compile(r"[\t ,]*<([^>]*)>")
_NAME: Final = re.compile(r"[\t ]*;[\t ]*([^\t ;,=]*)[\t ]*(=?)[\t ]*")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*+)"?', re.DOTALL)
_PLAIN: Final = re.compile(r"[^;,]*")
_REST: Final = re.compile(r"[^,]*")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_MAX_LENGTH: Final = 100

_KINDS: Final[Mapping[str, LinkKind]] = {
    "next": LinkKind.NEXT,
    "prev": LinkKind.PREV,
    "previous": LinkKind.PREV,
    "canonical": LinkKind.CANONICAL,
    "alternate": LinkKind.ALTERNATE,
    "stylesheet": LinkKind.STYLESHEET,
    "icon": LinkKind.IMAGE,
    "apple-touch-icon": LinkKind.IMAGE,
    "mask-icon": LinkKind.IMAGE,
    "modulepreload": LinkKind.SCRIPT,
}
_PRELOADED: Final[Mapping[str, LinkKind]] = {
    "image": LinkKind.IMAGE,
    "audio": LinkKind.MEDIA,
    "video": LinkKind.MEDIA,
    "track": LinkKind.MEDIA,
    "style": LinkKind.STYLESHEET,
    "script": LinkKind.SCRIPT,
    "font": LinkKind.FONT,
}
"""What the attribute `as` of a preloaded file says."""


class HeaderLink(msgspec.Struct, frozen=True):
    """A link of the Link header."""

    target: str
    """As written: absolute, or relative to the page."""
    rel: str
    """Its relations, separated by spaces."""
    preloaded_as: str | None = None


def header_links(values: Iterable[str]) -> list[HeaderLink]:
    """Return the links of all Link fields of a page that have a relation, up to the limit."""
    links = (
        HeaderLink(target, parameters["rel"], parameters.get("as"))
        for value in values
        for target, parameters in _parsed(value)
        if parameters.get("rel") and "anchor" not in parameters
    )
    return [*islice(links, MAX_HEADER_LINKS)]


def _parsed(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield target and parameters of each link; of equal parameters the first counts."""
    position = 0
    while (match := _TARGET.match(value, position)) is not None:
        target, position = match[1].strip(), match.end()
        parameters: dict[str, str] = {}
        while (match := _NAME.match(value, position)) is not None:
            name, position = match[1].lower(), match.end()
            content = ""
            if match[2]:
                content, position = _content(value, position)
            parameters.setdefault(name, content)
        yield target, parameters
        rest = _REST.match(value, position)
        position = position if rest is None else rest.end()


def _content(value: str, position: int) -> tuple[str, int]:
    """Return the value of a parameter, quoted or not, and where it ends."""
    quoted = _QUOTED.match(value, position)
    if quoted is not None:
        return _ESCAPED.sub(r"\1", quoted[1]), quoted.end()
    plain = _PLAIN.match(value, position)
    return ("", position) if plain is None else (plain[0].strip(), plain.end())


def kind_of_relation(rel: str, preloaded_as: str | None = None) -> LinkKind | None:
    """Return the kind of a link with these relations; None if it is none of those we know.

    Of several the first that we know counts; an alternate style sheet is a style sheet.
    """
    return _kind(rel[:_MAX_LENGTH], (preloaded_as or "")[:_MAX_LENGTH])


@lru_cache(1000)
def _kind(rel: str, preloaded_as: str) -> LinkKind | None:
    names = rel.lower().split()
    if "stylesheet" in names:
        return LinkKind.STYLESHEET
    for name in names:
        if name == "preload":
            return _PRELOADED.get(preloaded_as.strip().lower())
        if (kind := _KINDS.get(name)) is not None:
            return kind
    return None
