"""The tables of a page, as texts."""

from collections.abc import Collection, Iterator
from copy import deepcopy
from itertools import islice
from typing import Final

from turbohtml import Document, Element, Text

from gossamer.content.html_tree import WITHIN_WORDS
from gossamer.model.page import Table

MAX_CELLS: Final = 200_000
"""A table that would have more, because its cells span so much, is read as if they spanned nothing:
one cell may say that it is a thousand columns and 65,534 rows large."""
MAX_CHARACTERS: Final = 20_000_000
"""Of all tables together, since the text of a nested table is also that of those around it."""
_TABLE_PARTS: Final = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th"})
_LISTING: Final = "tbody:only-child > tr:only-child > td:only-child > pre:only-child"
_BLOCK: Final = f":not({', '.join(sorted(WITHIN_WORDS))})"
_BLOCK_IN_CELL: Final = f":not({', '.join(sorted(WITHIN_WORDS | _TABLE_PARTS))})"
_MAX_SPANS: Final = {"colspan": 1000, "rowspan": 65_534}
"""What the HTML standard allows."""


def tables_of(document: Document) -> tuple[Table, ...]:
    """Return the tables in their order, nested ones too; those without cells are left out."""
    if document.find("table") is None:
        return ()
    tables: list[Table] = []
    left = MAX_CHARACTERS
    for element in _with_words_apart(document).iter_elements({"table"}):
        rows = [*_rows(element)]
        if _size(rows) <= MAX_CELLS:
            cells = element.rows()
        else:
            cells = [[cell.text for cell in _cells(row)] for row in rows]
        left -= sum(len(text) for row in cells for text in row)
        if left < 0:
            break
        if any(cells):
            tables.append(_table(element, rows, cells))
    return tuple(tables)


def _with_words_apart(document: Document) -> Document:
    """Return a copy of the tree with a space wherever a cell shows two words, as around a line."""
    document = deepcopy(document)  # others read it, too
    for element in blocks_in_tables(document):
        element.insert_before(Text(" "))
        if isinstance(element.next_sibling, Text):
            element.insert_after(Text(" "))
    return document


def blocks_in_tables(part: Document | Element) -> Iterator[Element]:
    """Give the elements in tables that stand apart from the words before and after them."""
    for table in [*part.iter_elements({"table"})]:
        parent = table.parent
        if not isinstance(parent, Element) or parent.closest("table") is None:
            # Rows and cells stand between words only where a cell holds another table.
            is_simple = table.find("table") is None
            yield from table.select(_BLOCK_IN_CELL if is_simple else _BLOCK)


def unwrap_listings(document: Document) -> None:
    """Take text with lines of its own out of tables of one cell, as old DocBook has them."""
    for listing in document.select(_LISTING):
        for element in [*islice(listing.ancestors, 4)]:  # the cell, its row, the body and the table
            element.unwrap()


def without_large_tables(document: Document) -> Document:
    """Return the tree, or a copy without tables if one is too large to be laid out as text."""
    tables = document.iter_elements({"table"})
    if all(_size([*_rows(element)]) <= MAX_CELLS for element in tables):
        return document
    document = deepcopy(document)  # others read it, too
    for element in [*document.iter_elements(_TABLE_PARTS)]:
        element.tag = "div"
    return document


def _table(element: Element, rows: list[Element], cells: list[list[str]]) -> Table:
    texts = [tuple([" ".join(text.split()) for text in row]) for row in cells]
    caption = next((child.text for child in _children(element, {"caption"})), "")
    first = 1 if rows and _is_header(rows[0]) else 0
    return Table(texts[0] if first else (), tuple(texts[first:]), " ".join(caption.split()))


def _rows(table: Element) -> Iterator[Element]:
    for part in _children(table, {"tr", "thead", "tbody", "tfoot"}):
        if part.tag == "tr":
            yield part
        else:
            yield from _children(part, {"tr"})


def _cells(row: Element) -> list[Element]:
    return _children(row, {"td", "th"})


def _children(element: Element, tags: Collection[str]) -> list[Element]:
    return [child for child in element.children if isinstance(child, Element) and child.tag in tags]


def _is_header(row: Element) -> bool:
    """Return whether a row, the first of its table, holds the names of the columns."""
    cells, part = _cells(row), row.parent
    in_head = isinstance(part, Element) and part.tag == "thead"
    return bool(cells) and (in_head or all(cell.tag == "th" for cell in cells))


def _size(rows: list[Element]) -> int:
    """Return how many cells the grid of a table has at most, with all that is spanned."""
    widest, spanning = 0, list[tuple[int, int]]()
    for number, row in enumerate(rows):
        spanning = [(end, columns) for end, columns in spanning if end > number]
        width = sum(columns for _, columns in spanning)
        for cell in _cells(row):
            columns, deep = _span(cell, "colspan"), _span(cell, "rowspan")
            width += columns
            if deep > 1:
                spanning.append((number + deep, columns))
        widest = max(widest, width)
        if widest * len(rows) > MAX_CELLS:
            break
    return widest * len(rows)


def _span(cell: Element, name: str) -> int:
    value = (cell.attr(name) or "").strip()
    most = _MAX_SPANS[name]
    number = int(value) if value.isascii() and value.isdecimal() and len(value) < 9 else 1
    # 0 rows are all rows that are left.
    return most if number == 0 and name == "rowspan" else min(max(number, 1), most)
