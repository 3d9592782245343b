"""The document of a page, which tells what its markup says: the contract, and its types.

A page is parsed when somebody asks, and once (`content/document.py`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:  # the parser is loaded where a page is parsed
    from turbohtml import Element, Node

XPathResult: TypeAlias = "list[Node | str] | float | bool | str"
"""What an expression yields: nodes and attribute values, or a number, a truth, a text."""


class MicrodataItem(msgspec.Struct, frozen=True):
    """An item of microdata: an element with `itemscope`."""

    type: str | None
    """As in `itemtype`, such as https://schema.org/Product."""
    id: str | None
    properties: Mapping[str, Sequence["str | MicrodataItem"]]
    """By the names of the properties, the values of each in their order."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says about itself. URLs are absolute; None where the page says nothing."""

    description: str | None = None
    """Of Open Graph, or of the meta element."""
    canonical: str | None = None
    """The URL that the page prefers for itself."""
    author: str | None = None
    site_name: str | None = None
    """The name of the site as a whole."""
    image: str | None = None
    """The URL of the image that stands for the page."""
    published: str | None = None
    """When it was published, as the page writes it."""
    modified: str | None = None
    """When it was changed last, as the page writes it."""
    keywords: tuple[str, ...] = ()
    open_graph: Mapping[str, str] = {}
    """The properties `og:…` and `twitter:…`, under their full names and as they are written."""
    dublin_core: Mapping[str, str] = {}
    """The elements `dc.…` and `dcterms.…`, under their names in lower case."""
    json_ld: tuple[Any, ...] = ()
    """The blocks of JSON-LD that are valid JSON, each as the value that it stands for."""
    microdata: tuple[MicrodataItem, ...] = ()
    """The items that are not part of another one."""


class Table(msgspec.Struct, frozen=True):
    """A table of a page, as strings. A cell that spans several places is in each of them."""

    header: tuple[str, ...]
    """The first row, if it is a header; else empty."""
    rows: tuple[tuple[str, ...], ...]
    """The other rows."""
    caption: str = ""


class PageDocument(Protocol):
    """The document of a page: answers what the page says."""

    def text(self) -> str:
        """Return the visible text."""

    def main_text(self) -> str:
        """Return the text of the main content."""

    def markdown(self) -> str:
        """Return the main content as Markdown."""

    def metadata(self) -> Metadata:
        """Return what the page says about itself."""

    def tables(self) -> tuple[Table, ...]:
        """Return the tables."""

    def select(self, css: str) -> "list[Element]":
        """Return the elements that a CSS selector matches."""

    def select_one(self, css: str) -> "Element | None":
        """Return the first element that a CSS selector matches."""

    def xpath(self, expression: str) -> XPathResult:
        """Return what an XPath expression yields."""


class NoDocument:
    """The document of a page that was made without one: it says nothing."""

    def text(self) -> str:
        """Return no text."""
        return ""

    def main_text(self) -> str:
        """Return no text."""
        return ""

    def markdown(self) -> str:
        """Return no text."""
        return ""

    def metadata(self) -> Metadata:
        """Return nothing about the page."""
        return Metadata()

    def tables(self) -> tuple[Table, ...]:
        """Return no tables."""
        return ()

    def select(self, css: str) -> "list[Element]":
        """Return no elements."""
        del css
        return []

    def select_one(self, css: str) -> "Element | None":
        """Return no element."""
        del css
        return None

    def xpath(self, expression: str) -> XPathResult:
        """Return no nodes."""
        del expression
        return []
