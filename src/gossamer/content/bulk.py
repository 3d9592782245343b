"""Bulk in the source of a page: tags and texts that would hold up all threads when parsed.

The parser takes a page in pieces, but a tag at once, with all its attributes, and a text before the
first tag six times over: once for each step from the beginning of a page to its body. So a tag of
megabytes loses its attributes, and a large page that begins with text gets the `body` tag that the
HTML standard adds in its tree.

Where tags are is told by the tokenizer, which does not know the tree. It takes what is in a
`noscript` for text, and in SVG and MathML what is in a `style`, too; there the parser finds tags.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final

from turbohtml import Tokenizer, TokenType

from gossamer.content.limits import PIECE

MAX_TAG: Final = 2_000_000
"""Characters of a tag. One of this many, with an attribute in every five, takes 50 ms."""
LARGE: Final = 1_000_000
"""Characters of a page. A text of this many takes 12 ms before the body, and 2 ms in it."""

_QUIET_PIECES: Final = MAX_TAG // PIECE
"""A tag that is too long is the first one after this many pieces without any."""
_TAGS: Final = frozenset({TokenType.START_TAG, TokenType.END_TAG})
_PROLOGUE: Final = re.compile(
    r"(?: \s++ | <!doctype[^<>]*+> | <!--[^<>]*+(?<=--)> | <\?[^<>]*+> | <html[^<>]*+> )*+",
    re.VERBOSE | re.IGNORECASE,
)
_TAG_NAME: Final = re.compile(r"[\t\n\f\r >]|(?<!<)/")
"""What ends the name of a tag."""
_MAX_NAME: Final = 1_000
"""Characters of the name of a tag that loses its attributes: the rest of it goes with them."""
_AFTER_NAME: Final = r"(?=[\t\n\f\r />])"
# Only names may be in capitals: "<" is found faster without.
_NOSCRIPT: Final = re.compile(rf"<(?i:noscript){_AFTER_NAME}")
_RAW_TEXT: Final = re.compile(
    r"<(?=[inpstxINPSTX])"
    r"(?i:iframe|noembed|noframes|noscript|plaintext|script|style|textarea|title|xmp)"
    rf"{_AFTER_NAME}"
)
"""What the tokenizer takes the contents of for text."""
_FOREIGN: Final = re.compile(rf"<(?i:svg|math){_AFTER_NAME}")
_NOT_TEXT: Final = re.compile(r"<[a-zA-Z/!?]")


def with_body(source: str) -> str:
    """Return a page with a `body` tag before its text, if it is large and begins with text."""
    if len(source) <= LARGE:
        return source
    prologue = _PROLOGUE.match(source)
    start = prologue.end() if prologue else 0
    return source if _NOT_TEXT.match(source, start) else f"{source[:start]}<body>{source[start:]}"


def without_giant_tags(source: str) -> str:
    """Return a page without the attributes of tags that are too long."""
    if len(source) <= MAX_TAG:
        return source
    if "\r" in source:  # the tokenizer tells tags with the ends of lines that the standard wants
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    source = _slim(source, _NOSCRIPT)
    is_html = next(_places(source, _FOREIGN), None) is None
    return source if is_html else _slim(source, _RAW_TEXT)


def _slim(source: str, opened: re.Pattern[str]) -> str:
    """Return a page without giant tags, also inside the elements that a pattern finds."""
    marks = [-1, *(place + 1 for place in _places(source, opened)), len(source)]
    # With another first letter they are elements like others, and everything stays at its place.
    markup = "z".join([source[start + 1 : end] for start, end in pairwise(marks)])
    parts, end = [], 0
    for tag in _giant_tags(markup):
        if (start := _place_of(tag, markup, end)) < 0:
            break  # the tokenizer tells tags as they are, so this does not happen
        name = _TAG_NAME.split(source[start : start + _MAX_NAME], 1)[0]
        parts.append(f"{source[end:start]}{name}>")
        end = start + len(tag)
    return "".join([*parts, source[end:]]) if parts else source


def _giant_tags(markup: str) -> Iterator[str]:
    """Give the tags of a page that are too long, in order."""
    tokenizer = Tokenizer(capture_attributes=False, capture_source=True)
    quiet = 0
    for start in range(0, len(markup), PIECE):
        tokens = tokenizer.feed(markup[start : start + PIECE])
        if (first := next(tokens, None)) is None:
            quiet += 1
            continue
        found = chain((first,), tokens)
        if quiet >= _QUIET_PIECES:
            tags = [token.source or "" for token in found if token.type in _TAGS]
            yield from (tag for tag in tags if len(tag) > MAX_TAG)
        deque(found, maxlen=0)  # the tokenizer goes on only when it is asked
        quiet = 0


def _places(source: str, tag: re.Pattern[str]) -> Iterator[int]:
    """Give where a page has a tag, in pieces: a search keeps all other threads waiting."""
    for start in range(0, len(source), PIECE):
        end = start + PIECE
        yield from (
            place
            for match in tag.finditer(source, start, end + _MAX_NAME)
            if (place := match.start()) < end
        )


def _place_of(tag: str, markup: str, start: int) -> int:
    """Return where a giant tag is: to search for all of it would take longer than to parse it."""
    beginning = tag[:_MAX_NAME]
    place = markup.find(beginning, start)
    while place >= 0 and not markup.startswith(tag, place):
        place = markup.find(beginning, place + 1)
    return place
