"""A page, as modules see it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import msgspec

from gossamer.model.names import ContentKind, Url
from gossamer.model.response import Exchange, Headers

if TYPE_CHECKING:
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
    """What a page says, read on demand; as it stands, it says nothing."""

    def text(self) -> str:
        return ""

    def main_text(self) -> str:
        return ""

    def markdown(self) -> str:
        return ""

    def metadata(self) -> Metadata:
        return Metadata()

    def tables(self) -> tuple[Table, ...]:
        return ()

    def select(self, css: str) -> "list[Element]":
        del css
        return []

    def select_one(self, css: str) -> "Element | None":
        del css
        return None

    def xpath(self, expression: str) -> XPathResult:
        del expression
        return []


class NoDocument(PageDocument):
    """The document of a page that was made without one."""


class PageAttributes(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is only carried of a page: no rule of a crawl asks for it.

    It travels and is stored as one packed record. New fields come last, with a default: so what was
    stored without them can be read.
    """

    content_type: str = ""
    """As in the header of the answer; empty if it has none."""
    encoding: str = ""
    """The character encoding of the body, by its name in the Encoding Standard in lower case."""
    title: str = ""
    """On one line; empty if the page has none."""
    content_usage: str | None = None
    """The preferences of the header field `Content-Usage`, such as `train-ai=n, search=y`: what its
    publisher wants it used for. None if there is none."""


pack_attributes: Final[Callable[[PageAttributes], bytes]] = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(PageAttributes).decode
NO_ATTRIBUTES: Final = pack_attributes(PageAttributes())


def unpack_attributes(packed: bytes) -> PageAttributes:
    """Return attributes that were packed; msgspec.DecodeError says how they are damaged."""
    try:
        return _decode(packed)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


class Page(PageAttributes, frozen=True, kw_only=True, array_like=False):
    """A page as a module sees it; immutable."""

    id: int
    """The number of the page in its crawl: 1, 2, 3 … without gaps."""
    url: Url
    """In normal form."""
    depth: int
    """The length of the shortest path from a seed, over the links seen so far."""
    status: int
    """The HTTP status."""
    kind: ContentKind = ContentKind.HTML
    """What it is, by its content type and its first bytes; only HTML and text are read."""
    body: bytes
    """Transfer and content codings decoded, character encoding untouched."""
    links: tuple[Url, ...]
    """Where its links lead, in their order: those of the kinds that `--follow` names."""
    fetched_at: float
    """Seconds since the epoch."""
    is_revisit: bool = False
    """Whether the page was kept before under this id, and has been visited again."""
    headers: Headers = Headers()
    """The header of the answer."""
    found_on: Url | None = None
    """The page, or the sitemap, before it on the shortest path from a seed; None: it is a seed."""
    redirected_from: tuple[Url, ...] = ()
    """The URLs that redirected here, in order, as far as they are known."""
    exchange: Exchange | None = None
    """The request and the header of the answer, byte for byte; None: unknown."""
    coded_body: bytes | None = None
    """The body with its content codings; None if there were none. Use `wire_body` instead."""
    language: str = ""
    """The language of the page, such as `en` or `pt-BR`, as its markup or its header says; empty if
    neither does."""
    document: PageDocument = NoDocument()
    """Answers for the methods and properties below, which read the page on demand."""

    def __repr__(self) -> str:  # a log or a debugger is no place for the body
        return (
            f"<Page {self.id} {self.url[:200]} {self.title[:60]!r}: depth {self.depth}, "
            f"{len(self.body):,} bytes, {len(self.links):,} links>"
        )

    @property
    def address(self) -> str | None:
        """The IP address that answered; None: unknown."""
        return self.exchange.address if self.exchange else None

    @property
    def wire_body(self) -> bytes:
        """The body as it was received: content codings not undone, transfer codings are."""
        return self.body if self.coded_body is None else self.coded_body

    @property
    def text(self) -> str:
        """The visible words, with one space between them; none if it is neither HTML nor text."""
        return self.document.text()

    @property
    def main_text(self) -> str:
        """The text of the main content, in lines: no navigation, header, footer or sidebar.

        The whole text if nothing on the page reads as content.
        """
        return self.document.main_text()

    @property
    def markdown(self) -> str:
        """The main content as Markdown, or else the whole page; links are absolute."""
        return self.document.markdown()

    @property
    def metadata(self) -> Metadata:
        """What the page says about itself: description, dates, Open Graph, JSON-LD and more."""
        return self.document.metadata()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the page, in their order."""
        return self.document.tables()

    def select(self, css: str) -> "list[Element]":
        """Return the elements that a CSS selector matches, in their order.

        They are turbohtml's: `element.text`, `element.attr("href")`, `element.select("li")`. All
        modules share them, so they are not to be changed. A wrong selector raises ValueError.
        """
        return self.document.select(css)

    def select_one(self, css: str) -> "Element | None":
        """Return the first element that a CSS selector matches, None if there is none."""
        return self.document.select_one(css)

    def xpath(self, expression: str) -> XPathResult:
        """Return what an XPath 1.0 expression yields; a wrong one raises ValueError.

        That is a list of elements and strings, or a number, a boolean or a string.
        """
        return self.document.xpath(expression)
