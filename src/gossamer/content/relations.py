"""Relations between a page and what it links to: `rel` in a link element and in the Link header."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from gossamer.kinds import LinkKind

_MAX_LENGTH: Final = 100

_KINDS: Final[Mapping[str, LinkKind]] = MappingProxyType(
    {
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
)
_PRELOADED: Final[Mapping[str, LinkKind]] = MappingProxyType(
    {
        "image": LinkKind.IMAGE,
        "audio": LinkKind.MEDIA,
        "video": LinkKind.MEDIA,
        "track": LinkKind.MEDIA,
        "style": LinkKind.STYLESHEET,
        "script": LinkKind.SCRIPT,
        "font": LinkKind.FONT,
    }
)
"""What the attribute `as` of a preloaded file says."""


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
