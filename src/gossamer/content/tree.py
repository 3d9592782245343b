"""The tree of a page, within the limits: for everything that is read from one on demand."""

from typing import Final

import turbohtml
from turbohtml import Document, Element

from gossamer.content.bulk import without_giant_tags
from gossamer.content.limits import PIECE, PREFIX, RENAMED, as_written, rename_with_ends

PARSED_AT_ONCE: Final = 4 * PIECE
"""Characters: such a page is read in two milliseconds, and hardly ever in a thread of its own."""

INVISIBLE: Final = frozenset(
    {"iframe", "noembed", "noframes", "noscript", "script", "style", "title"}
)
_INLINE = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q ruby
    s samp small span strike strong sub sup time tt u var wbr
"""
WITHIN_WORDS: Final = frozenset(_INLINE.split())
"""The elements that do not separate the words before and after them."""
_WITHIN_WORDS_RENAMED: Final = WITHIN_WORDS | {f"{PREFIX}{name}" for name in WITHIN_WORDS}
"""The same on a page with renamed elements."""
_FREQUENT: Final = "span, a, code, em, strong"
"""Most of these elements on most pages."""
_FREQUENT_RENAMED: Final = ", ".join(
    f"{PREFIX}{name}" if f"{PREFIX}{name}" in RENAMED else name for name in _FREQUENT.split(", ")
)

_WITHOUT_MEANING: Final = ", ".join(f"{PREFIX}{name}" for name in ("html", "body"))
"""Renamed elements of which a tree has one of its own."""
_RAW_TEXT: Final = frozenset(
    {"iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"}
)
"""Elements in which tags are text."""
_RENAMED_ATTRIBUTE: Final = f'//*[@*[contains(., "{PREFIX}")]]'


def parse_in_pieces(source: str, piece: int = PIECE, at_once: int = PARSED_AT_ONCE) -> Document:
    """Return the tree of a page; other threads have their turn while that of a large one grows.

    In pieces it takes half as long again. What is in a template does not count, and is left aside
    or to be removed.
    """
    if len(source) <= at_once:
        return turbohtml.parse(source, allow_declarative_shadow_roots=False)
    parser = turbohtml.IncrementalParser()
    for start in range(0, len(source), piece):
        parser.feed(source[start : start + piece])
    return parser.close()


def parse_tree(source: str) -> Document:
    """Return the tree of a page: that of the HTML standard, but never out of proportion to it."""
    slim = without_giant_tags(source)
    renamed = rename_with_ends(slim)
    document = turbohtml.parse(renamed, allow_declarative_shadow_roots=False)
    if renamed is not slim:
        document.strip_tags(_WITHOUT_MEANING)
        _give_back_names(document)
    return document


def visible_text(document: Document, *, is_renamed: bool = False) -> str:
    """Return the visible text. The tree cannot be used afterwards."""
    # It loads a sanitiser too, and most crawls want no text.
    from turbohtml.clean import strip_comments_node  # noqa: PLC0415

    document = strip_comments_node(document)
    drop_invisible(document)
    # To unwrap the frequent ones at once and the rest one by one takes a third of the time of
    # unwrapping all at once, for which each element is compared with one name after the other.
    document.strip_tags(_FREQUENT_RENAMED if is_renamed else _FREQUENT)
    for element in document.iter_elements(_WITHIN_WORDS_RENAMED if is_renamed else WITHIN_WORDS):
        element.unwrap()
    if document.root is not None:
        document.root.normalize()
    return " ".join(document.strings)


def drop_invisible(document: Document) -> None:
    """Remove the elements that a browser does not show."""
    for element in document.iter_elements(INVISIBLE):
        element.decompose()


def _give_back_names(document: Document) -> None:
    """Let elements, and what was renamed in attributes or texts, be as they were written."""
    for element in document.iter_elements(RENAMED):
        element.tag = element.tag.removeprefix(PREFIX)
    for node in [*document.xpath_iter(_RENAMED_ATTRIBUTE)]:
        attributes = node.attrs if isinstance(node, Element) else {}
        for name, value in [*attributes.items()]:
            if isinstance(value, str) and PREFIX in value:
                attributes[name] = as_written(value)
    for element in document.iter_elements(_RAW_TEXT):
        if PREFIX in element.text:
            element.set_text(as_written(element.text))
