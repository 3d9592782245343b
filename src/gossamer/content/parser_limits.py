"""Limits on the parser's work, against pages that explode when parsed and tags without end.

Where `<b>` is not closed, the HTML standard opens it again in every following paragraph
("reconstruct the active formatting elements"), with all its attributes; and a second `<body>` adds
its attributes to the first. A few hundred such tags before a few thousand paragraphs turn 100 kB
into a tree of gigabytes, in any parser that follows the standard. On pages large enough for that,
these elements are renamed to names without a meaning: links and words stay the same, and the tree
stays in proportion to the page. And a tag of megabytes, with an attribute in every few characters,
loses its attributes: whoever parses it keeps all other threads waiting.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final

from turbohtml import Tokenizer, TokenType

HARMLESS: Final = 20_000_000
"""Tags times characters: up to this, the worst page takes 120 MB and a tenth of a second."""

PIECE: Final = 65_536
"""Characters that are read at once: whoever reads them keeps other threads waiting for a
millisecond or two."""

RENAMED_AT_ONCE: Final = 4 * PIECE
"""Characters in which elements are renamed at once: that takes a millisecond, too."""

PREFIX: Final = "gossamer-"
"""The prefix of renamed elements."""

_LETTERS: Final = "abisu"
_WORDS: Final = (
    *("em", "tt", "big", "body", "code", "font", "html", "nobr", "small", "strike", "strong"),
)
RENAMED: Final = frozenset(f"{PREFIX}{name}" for name in (*_LETTERS, *_WORDS))
"""The names of renamed elements."""

# The first letter is checked first, because that excludes most tags.
_NAME: Final = rf"""
    (?=[abcefhinstu])
    (?=(?:[{_LETTERS}]|{"|".join(_WORDS)})[\t\n\f\r\ />])
"""
_FLAGS: Final = re.VERBOSE | re.IGNORECASE | re.ASCII
_ROOT: Final = re.compile(r"<html[\t\n\f\r />]", _FLAGS)
_ROOT_WITHIN: Final = 4096
_START: Final = re.compile(f"<{_NAME}", _FLAGS)
_START_OR_END: Final = re.compile(f"<(/?){_NAME}", _FLAGS)

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


def rename_formatting(text: str) -> str:
    """Return the page with its formatting elements renamed if it could explode, else as it is.

    Their end tags stay: without an open element of that name they do nothing.
    """
    return text if is_harmless(text) else _renamed(text, _START, f"<{PREFIX}")


def rename_with_ends(text: str) -> str:
    """Return the page renamed with the end tags, where it matters what is inside an element.

    It takes longer. The elements may get their names back once they are in a tree.
    """
    return text if is_harmless(text) else _renamed(text, _START_OR_END, rf"<\1{PREFIX}")


def is_harmless(text: str) -> bool:
    """Return whether the page is too small to explode."""
    return text.count("<") * len(text) <= HARMLESS


def root_in(text: str) -> int:
    """Return where the first `html` tag of a page is; -1 if it does not begin with one.

    It keeps its name, because it has the language, and nothing to add its attributes to.
    """
    match = _ROOT.search(text, 0, _ROOT_WITHIN)
    return -1 if match is None else match.start()


def as_written(text: str) -> str:
    """Return a text from a renamed page, such as its title, as its author wrote it."""
    return text.replace(f"<{PREFIX}", "<").replace(f"</{PREFIX}", "</")


def _renamed(text: str, names: re.Pattern[str], replacement: str) -> str:
    root = root_in(text)
    parts = (text,) if root < 0 else (text[:root], text[root + 1 :])
    renamed = [
        "".join([names.sub(replacement, piece) for piece in _pieces(part)]) for part in parts
    ]
    return "<".join(renamed)


def _pieces(text: str) -> list[str]:
    """Return a text cut before tags, beyond which no match goes; a small one is not cut."""
    pieces, start = [], 0
    while len(text) - start > RENAMED_AT_ONCE:
        end = text.find("<", start + RENAMED_AT_ONCE)
        if end < 0:
            break
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]


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
        tokens = chain((first,), tokens)
        if quiet >= _QUIET_PIECES:
            tags = [token.source or "" for token in tokens if token.type in _TAGS]
            yield from (tag for tag in tags if len(tag) > MAX_TAG)
        deque(tokens, maxlen=0)  # the tokenizer goes on only when it is asked
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
