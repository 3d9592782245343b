"""The kinds of links that a crawl follows."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from gossamer.kinds import ContentKind, LinkKind

HYPERLINKS: Final = frozenset({LinkKind.A, LinkKind.AREA})
"""What a reader clicks on."""

USUAL: Final = HYPERLINKS | {
    *(LinkKind.FRAME, LinkKind.IFRAME, LinkKind.REFRESH),
    *(LinkKind.NEXT, LinkKind.PREV, LinkKind.HEADER),
}
"""Where a reader gets to. A canonical or an alternate is the same content once more: to follow them
costs a request for nothing new."""

_LEADING_TO: Final[Mapping[ContentKind, frozenset[LinkKind]]] = MappingProxyType(
    {
        ContentKind.IMAGE: frozenset({LinkKind.IMAGE}),
        ContentKind.AUDIO: frozenset({LinkKind.MEDIA}),
        ContentKind.VIDEO: frozenset({LinkKind.MEDIA}),
        ContentKind.CSS: frozenset({LinkKind.STYLESHEET}),
        ContentKind.JS: frozenset({LinkKind.SCRIPT}),
        ContentKind.FONT: frozenset({LinkKind.FONT}),
        ContentKind.PDF: frozenset({LinkKind.OBJECT}),
        ContentKind.XML: frozenset({LinkKind.ALTERNATE}),
        ContentKind.JSON: frozenset({LinkKind.ALTERNATE}),
        ContentKind.OTHER: frozenset({LinkKind.OBJECT}),
    }
)
"""For files that pages refer to by other links than those of a reader. Feeds are alternates."""


def kinds_to_follow(
    words: Iterable[str] | None, accepted: Collection[ContentKind]
) -> frozenset[LinkKind]:
    """Return what `--follow` means; None: the usual kinds, and what leads to what is accepted."""
    if words is not None:
        return frozenset(map(LinkKind, words))
    return USUAL.union(*(_LEADING_TO.get(kind, frozenset()) for kind in accepted))
