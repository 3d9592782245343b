"""The document of a page: read from its tree when somebody asks, and once.

Everything shares one tree. Whatever the bytes are, nothing here fails but a wrong expression.
"""

import threading
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from gossamer.content.page_parser import MAX_READ_BYTES
from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Url
from gossamer.model.names import ContentKind
from gossamer.model.page import Metadata, Table, XPathResult
from gossamer.urls import shown

if TYPE_CHECKING:
    from turbohtml import Document, Element

T = TypeVar("T")


def _once(read: Callable[["LazyDocument"], T]) -> Callable[["LazyDocument"], T]:
    """Have a method keep what it returned first."""

    @wraps(read)
    def known(document: "LazyDocument") -> T:
        return document.known(read)

    return known


class LazyDocument:
    """What a page says; parsed on demand, for any number of threads.

    Text without markup has no elements; its text is its main text, and its Markdown.
    """

    def __init__(
        self, body: bytes, url: Url, content_type: str | None, kind: ContentKind | None = None
    ) -> None:
        """Prepare; without its kind, what it is goes by its content type and its bytes."""
        self._body = body
        self._kind = kind
        self._url = url
        self._content_type = content_type
        self._known: dict[Callable[[LazyDocument], object], object] = {}
        self._lock = threading.RLock()  # modules have threads of their own

    def known(self, read: Callable[["LazyDocument"], T]) -> T:
        """Return what a method returns, or has returned before."""
        with self._lock:
            if read not in self._known:
                self._known[read] = read(self)
            value: T = self._known[read]  # type: ignore[assignment]  # what was computed
            return value

    # What these need loads the parser, and more of it than most crawls need.

    @_once
    def text(self) -> str:
        """Return the visible words, with one space between them."""
        from gossamer.content import html_tree  # noqa: PLC0415

        document = self._document()
        if document is None:
            return html_tree.with_single_spaces(self._source()[1])
        document = deepcopy(document)
        if document.find("template") is not None:  # templates are for scripts
            document.remove("template")
        return html_tree.with_single_spaces(html_tree.visible_text(document))

    @_once
    def main_text(self) -> str:
        """Return the text of the main content, in lines; of the whole page if it has none."""
        document = self._bounded()
        if document is None:
            return self._source()[1].strip()
        from gossamer.content.main_part import in_lines  # noqa: PLC0415

        return in_lines(self._main_part(document)).to_text().strip()

    @_once
    def markdown(self) -> str:
        """Return the main content as Markdown, or the whole page; links are absolute."""
        document = self._document()
        if document is None:
            return self._source()[1].strip()
        from gossamer.content.main_part import without_empty_lines  # noqa: PLC0415

        return without_empty_lines(self._main_part(document)).to_markdown().strip()

    @_once
    def metadata(self) -> Metadata:
        """Return what the page says about itself."""
        from gossamer.content.metadata import metadata_of  # noqa: PLC0415

        document = self._bounded()
        return Metadata() if document is None else metadata_of(document, self._url)

    @_once
    def tables(self) -> tuple[Table, ...]:
        """Return the tables."""
        from gossamer.content.tables import tables_of  # noqa: PLC0415

        document = self._document()
        return () if document is None else tables_of(document)

    def select(self, css: str) -> "list[Element]":
        """Return the elements that a CSS selector matches; ValueError if it is none."""
        return self._select(css, lambda tree: tree.select(css))

    def select_one(self, css: str) -> "Element | None":
        """Return the first element that a CSS selector matches; ValueError if it is none."""
        return self._select(css, lambda tree: tree.select_one(css))

    def xpath(self, expression: str) -> XPathResult:
        """Return what an XPath expression yields; ValueError if it is none."""
        try:
            return self._tree().xpath(expression)
        except ValueError as error:
            wrong = f"the XPath expression {shown(expression)} is wrong"
            raise ValueError(f"{wrong}: {error}") from None

    def _select(self, css: str, run: "Callable[[Document | Element], T]") -> T:
        try:
            return run(self._tree())
        except ValueError as error:
            reason = str(error).rpartition('": ')[2]
            raise ValueError(f"the CSS selector {shown(css)} is wrong: {reason}") from None

    def _source(self) -> tuple[ContentKind, str]:
        """Return the kind of the page and its characters."""
        label = parse_content_type(self._content_type)
        kind = self._kind or kind_of(label, self._body)
        if not kind.is_page:
            return kind, ""
        from gossamer.content.html_tree import decode_markup  # noqa: PLC0415

        return kind, decode_markup(self._body[:MAX_READ_BYTES], label).text

    @_once
    def _tree(self) -> "Document | Element":
        """Return the tree; without markup, one of nothing."""
        from turbohtml import parse_fragment  # noqa: PLC0415

        from gossamer.content.html_tree import parse_tree  # noqa: PLC0415

        kind, source = self._source()
        return parse_tree(source) if kind is ContentKind.HTML else parse_fragment("")

    def _document(self) -> "Document | None":
        """Return the tree of a page with markup."""
        from turbohtml import Document  # noqa: PLC0415

        tree = self._tree()
        return tree if isinstance(tree, Document) else None

    @_once
    def _bounded(self) -> "Document | None":
        """Return the tree as it can be laid out in lines of text, which is part of finding data."""
        from gossamer.content.tables import without_large_tables  # noqa: PLC0415

        document = self._document()
        return None if document is None else without_large_tables(document)

    def _main_part(self, document: "Document") -> "Document | Element":
        """Return the main part of a copy of the tree, with absolute links, to be laid out."""
        from gossamer.content.main_part import laid_out, take_main_part  # noqa: PLC0415
        from gossamer.content.tables import unwrap_listings  # noqa: PLC0415

        document = deepcopy(document)
        unwrap_listings(document)
        document.resolve_links(document.base_url(self._url))
        return laid_out(take_main_part(document, self._url))
