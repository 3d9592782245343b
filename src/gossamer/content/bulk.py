"""Bulk in the source of a page: tags and texts that would hold up all threads when parsed.

The parser takes a page in pieces, but a tag at once, with all its attributes, and a text before the
first tag six times over: once for each step from the beginning of a page to its body. So a tag of
megabytes loses its attributes, and a large page that begins with text gets the `body` tag that the
HTML standard adds in its tree.
"""

import re
from collections import deque
from itertools import chain
from typing import Final

from turbohtml import Tokenizer, TokenType

from gossamer.content.limits import PIECE

MAX_TAG: Final = 2_000_000
"""Characters of a tag. One of so many, with an attribute in every five, takes 50 ms."""
LARGE: Final = 1_000_000
"""Characters of a page. A text of so many takes 12 ms before the body, and 2 ms in it."""

_QUIET_PIECES: Final = MAX_TAG // PIECE
"""A tag that is too long is the first one after so many pieces without any."""
_TAGS: Final = frozenset({TokenType.START_TAG, TokenType.END_TAG})
_PROLOGUE: Final = re.compile(
    r"(?: \s++ | <!doctype[^<>]*+> | <!--[^<>]*+(?<=--)> | <\?[^<>]*+> | <html[^<>]*+> )*+",
    re.VERBOSE | re.IGNORECASE,
)
_TAG_NAME: Final = re.compile(r"[\t\n\f\r >]|(?<!<)/")
"""What ends the name of a tag."""
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
    tokenizer = Tokenizer(capture_attributes=False, capture_source=True)
    giants: list[str] = []
    quiet = 0
    for start in range(0, len(source), PIECE):
        tokens = tokenizer.feed(source[start : start + PIECE])
        if (first := next(tokens, None)) is None:
            quiet += 1
            continue
        found = chain((first,), tokens)
        if quiet >= _QUIET_PIECES:
            tags = [token.source or "" for token in found if token.type in _TAGS]
            giants += [tag for tag in tags if len(tag) > MAX_TAG]
        deque(found, maxlen=0)  # the tokenizer goes on only when it is asked
        quiet = 0
    for tag in giants:
        source = source.replace(tag, f"{_TAG_NAME.split(tag, 1)[0]}>", 1)
    return source
