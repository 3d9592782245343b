"""The reader of HTML pages: links, title, text and meta elements from the tree.

The tree is the one a browser would build, however malformed the page is: turbohtml implements the
parsing algorithm of the HTML standard. Links in a comment, a script, a template or an SVG do not
count; links in a noscript do, since we run no scripts.
"""

from collections.abc import Mapping
from functools import cache

from turbohtml import Element, Namespace

from gossamer.content.contents import (
    MAX_HREFS,
    WHITE_SPACE,
    Handler,
    PageContents,
    handlers_for,
)
from gossamer.content.limits import PREFIX, as_written, rename_formatting
from gossamer.content.markers import Markers, Position, is_between
from gossamer.content.references import Tag
from gossamer.content.tree import drop_invisible, parse_in_pieces, visible_text
from gossamer.kinds import LinkKind
from gossamer.policy.link_kinds import HYPERLINKS


class PageReader(PageContents):
    """The contents of a page, from its tree.

    With markers, only the links between them count.
    """

    def __init__(
        self,
        text: str,
        markers: Markers | None = None,
        follow: frozenset[LinkKind] = HYPERLINKS,
    ) -> None:
        super().__init__(follow)
        source = rename_formatting(text)
        self._is_renamed = source is not text
        self._borders = None if markers is None else markers.borders_in(source)
        self._link_positions: set[Position | None] = set()
        self._document = parse_in_pieces(source)
        self._element: Element
        """The one at hand."""
        self._read(_handlers_for(follow))

    @property
    def markers_missing(self) -> bool:
        """Whether the page should have markers and has none."""
        return self._borders == []

    def take_text(self) -> str:
        """Return the visible text. The tree cannot be used afterwards."""
        return self._as_written(visible_text(self._document, is_renamed=self._is_renamed))

    def take_run(self) -> str:
        """Return the visible text as one run of characters."""
        drop_invisible(self._document)
        return self._as_written(self._document.text)

    def _read(self, handlers: Mapping[str, Handler]) -> None:
        # Templates are for scripts.
        if self._document.find("template") is not None:
            self._document.remove("template")
        if self._document.root is not None:
            self.note_root(self._document.root)
        tag = _RenamedTag() if self._is_renamed else None
        for element in self._document.iter_elements(handlers):
            if element.namespace is Namespace.HTML:
                self._element = element
                if tag is not None:
                    tag.element = element
                handlers[element.tag](self, tag or element)

    def note_link(self, element: Tag, kind: LinkKind = LinkKind.A) -> None:
        """Note an element with `href`."""
        href = element.attr("href")
        if href is None or len(self.hrefs) >= MAX_HREFS:
            return
        # The tree repeats an unclosed link in every paragraph; the page has it once.
        position = self._element.position
        if position in self._link_positions:
            return
        self._link_positions.add(position)
        if self._borders is None or is_between(self._borders, position):
            self.hrefs.append(href.strip(WHITE_SPACE))
            self.kinds.append(kind)

    def add_link(self, href: str, kind: LinkKind) -> None:
        """Add a link if it is between markers, or if there are none."""
        if self._borders is None or is_between(self._borders, self._element.position):
            super().add_link(href, kind)

    def is_in_noscript(self) -> bool:
        """Return whether the element at hand is in a `noscript`."""
        return self._element.closest("noscript") is not None

    def _as_written(self, text: str) -> str:
        return as_written(text) if self._is_renamed else text


class _RenamedTag:
    """The element at hand in a page in which elements were renamed, as it was written."""

    element: Element

    @property
    def tag(self) -> str:
        return self.element.tag

    @property
    def text(self) -> str:
        return as_written(self.element.text)

    def attr(self, name: str, /) -> str | None:
        value = self.element.attr(name)
        return as_written(value) if value and "<" in value else value


@cache
def _handlers_for(follow: frozenset[LinkKind]) -> Mapping[str, Handler]:
    handlers = handlers_for(PageReader, follow)
    return {**handlers, f"{PREFIX}a": handlers["a"]} if "a" in handlers else handlers
