"""A limit on the size of the tree of a page, against pages that explode when parsed.

Where `<b>` is not closed, the HTML standard opens it again in every following paragraph
("reconstruct the active formatting elements"), with all its attributes; and a second `<body>` adds
its attributes to the first. A few hundred such tags before a few thousand paragraphs turn 100 kB
into a tree of gigabytes, in any parser that follows the standard. On pages large enough for that,
these elements are renamed to names without a meaning: links and words stay the same, and the tree
stays in proportion to the page.
"""

import re
from typing import Final

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
    renamed = ["".join([names.sub(replacement, one) for one in _pieces(part)]) for part in parts]
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
