"""The main part of a page, made ready to be laid out as lines of text or as Markdown.

Whoever lays it out knows fewer elements than a browser does. It takes `center` and `form` for parts
of a line, and so joins words that a reader sees apart: in cells any block, and cells themselves
outside of a table. And lines of text would lack captions, and what a list has beside its entries.
"""

import re
from typing import Final

from turbohtml import Document, Element, Node, Text

from gossamer.content.tables import blocks_in_tables

_NOT_SHOWN: Final = frozenset({"iframe", "noembed", "noframes", "title"})
"""What has markup as its text, for other browsers, and the titles of drawings."""
_FOR_OTHERS: Final = "noscript:not(:has(img))"
"""An image that is there without scripts is one that scripts show."""
_BLOCKS: Final = frozenset(
    {"center", "dialog", "fieldset", "form", "hgroup", "legend", "marquee", "search"}
)
_AS_WRITTEN: Final = frozenset({"listing", "plaintext", "xmp"})
_BOXES: Final = frozenset(
    {"audio", "button", "canvas", "noscript", "object", "optgroup", "option", "select", "textarea"}
    | {"text", "video"}  # the former of SVG
)
"""What stands in a line, and is not part of the words before and after it."""
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NO_BREAK: Final = "\xa0"
"""The space of `Chapter 6.`: in headings, and only there, Markdown would have it as an entity."""
_EMPTY_LINES: Final = re.compile(r"\n\s*\n")
_LOOSE_LISTS: Final = """
    descendant-or-self::*[self::ul or self::ol or self::menu]
        [text()[normalize-space()] or *[not(self::li or self::ul or self::ol or self::menu)]]
"""


def laid_out(part: Document | Element) -> Document | Element:
    """Return a part of a page with everything shown as in a browser; the tree is changed."""
    for element in [*part.iter_elements(_NOT_SHOWN), *part.select(_FOR_OTHERS)]:
        element.decompose()
    for tag, others in (("div", _BLOCKS), ("pre", _AS_WRITTEN), ("ul", {"dir"})):
        for element in [*part.iter_elements(others)]:
            element.tag = tag
    for element in [*part.iter_elements(_BOXES)]:
        element.insert_before(Text(" "))
        element.insert_after(Text(" "))
    _take_no_break_spaces(part)
    if isinstance(part, Element):
        part = _whole_table(part)
    for caption in part.select("table > caption"):
        if isinstance(table := caption.parent, Element):
            table.insert_before(caption.extract())
            caption.tag = "p"
    return part


def _take_no_break_spaces(part: Document | Element) -> None:
    for heading in part.iter_elements(_HEADINGS):
        for node in heading.descendants:
            if isinstance(node, Text) and _NO_BREAK in node.data:
                node.data = node.data.replace(_NO_BREAK, " ")


def without_empty_lines(part: Document | Element) -> Document | Element:
    """Return a part without empty lines in its tables; the tree is changed.

    One that Markdown has no way to write is HTML there, which an empty line would end.
    """
    for listing in part.select("table pre:not(pre pre)"):
        for node in _with_empty_lines(listing):
            first, *others = node.data.split("\n")
            node.data = first
            for line in reversed(others):
                node.insert_after(Text(line))
                node.insert_after(Element("br"))
    for table in part.select("table:not(table table)"):
        for node in _with_empty_lines(table):
            node.data = _EMPTY_LINES.sub("\n", node.data)
    return part


def _with_empty_lines(element: Element) -> list[Text]:
    return [
        node
        for node in element.descendants
        if isinstance(node, Text) and _EMPTY_LINES.search(node.data)
    ]


def in_lines(part: Document | Element) -> Document | Element:
    """Return a part as lines of text need it; Markdown does not. The tree is changed.

    Lists with more than entries are blocks, and in cells there is a line break around blocks.
    """
    for element in [*part.xpath_iter(_LOOSE_LISTS)]:
        if isinstance(element, Element):
            element.tag = "div"
    for element in blocks_in_tables(part):
        if element.tag != "br":
            if _is_text(element.previous_sibling):
                element.insert_before(Element("br"))
            if _is_text(element.next_sibling):
                element.insert_after(Element("br"))
    return part


def _is_text(node: Node | None) -> bool:
    return isinstance(node, Text) and not node.text.isspace()


def _whole_table(part: Element) -> Element:
    """Return an element with the table that rows are in; anything else as it is."""
    if part.tag == "tr":
        part = part.wrap(Element("table"))
    elif part.tag in {"tbody", "thead", "tfoot"}:
        part = part.closest("table") or part
    return part.wrap(Element("div")) if part.tag == "table" else part
