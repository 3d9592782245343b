"""The robots directives of a page: X-Robots-Tag headers and robots meta elements.

No standard defines their grammar. This follows what the large search engines document: lists of
words separated by commas, some with a value after a colon, and in the header an agent's name before
a colon. Words for all agents and words for us add up; nothing lifts a restriction.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from gossamer.model.content_kinds import ContentKind, LinkKind

_RESTRICTIONS: Final = frozenset({"nofollow", "none"})

_WITH_VALUE: Final = frozenset(
    {"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"}
)
"""Words with a value after a colon: in a header the colon does not make them an agent's name."""

_SEPARATOR = re.compile("[,;]")


def may_follow(agent: str, header_values: Sequence[str], metas: Sequence[tuple[str, str]]) -> bool:
    """Return whether an agent with this product token may follow the page's links.

    `header_values` are the values of all X-Robots-Tag fields, `metas` the name and the content of
    all meta elements that have both.
    """
    agent = agent.lower()
    words = [word for value in header_values for word in _header_words(agent, value)]
    for name, content in metas:
        if name.strip().lower() in {"robots", agent}:
            for part in _SEPARATOR.split(content.lower()):
                words += _words(part)
    return _RESTRICTIONS.isdisjoint(words)


def _header_words(agent: str, value: str) -> Iterator[str]:
    """Yield the words of a header field that concern the agent.

    A name is valid until the next one: in "noindex, otherbot: nofollow, noarchive" the last two
    words are for otherbot alone.
    """
    concerned = True
    for part in _SEPARATOR.split(value.lower()):
        head, colon, tail = part.partition(":")
        name = head.strip()
        words = part
        if colon and name not in _WITH_VALUE and len(name.split()) == 1:
            concerned = name in {agent, "*"}
            words = tail
        if concerned:
            yield from _words(words)


def _words(part: str) -> list[str]:
    """Return the words between two commas, without a word that has a value and that value."""
    head, colon, tail = part.partition(":")
    if not colon:
        return head.split()
    return head.split()[:-1] + tail.split()[1:]


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
