"""The reader of HTML pages: links, title, text and meta elements from the tree.

The tree is the one a browser would build, however malformed the page is: turbohtml implements the
parsing algorithm of the HTML standard. Links in a comment, a script, a template or an SVG do not
count; links in a noscript do, since we run no scripts.
"""

from collections.abc import Callable
from typing import ClassVar, Final

import turbohtml
from turbohtml import Element, Namespace
from turbohtml.clean import strip_comments_node

from gossamer.content.limits import PREFIX, as_written, rename_formatting
from gossamer.content.markers import Markers, is_between

MAX_TITLE_LENGTH: Final = 500

_MAX_BASES: Final = 100
_MAX_HREFS: Final = 100_000
_MAX_METAS: Final = 1_000
_MAX_META_LENGTH: Final = 1_000

_WHITE_SPACE: Final = "\t\n\f\r "

_INVISIBLE: Final = frozenset(
    {"iframe", "noembed", "noframes", "noscript", "script", "style", "title"}
)
_INLINE = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q ruby
    s samp small span strike strong sub sup time tt u var wbr
"""
_WITHIN_WORDS: Final = ", ".join(_INLINE.split())
"""The elements that do not separate the words before and after them."""
_WITHIN_WORDS_RENAMED: Final = ", ".join(f"{name}, {PREFIX}{name}" for name in _INLINE.split())
"""The same on a page with renamed elements; a list of its own, because each name costs time."""


class PageReader:
    """The contents of a page, as written. With markers, only the links between them."""

    def __init__(self, text: str, markers: Markers | None = None) -> None:
        self.title: str | None = None
        self.hrefs: list[str] = []
        self.bases: list[str] = []
        self.metas: list[tuple[str, str]] = []
        source = rename_formatting(text)
        self._is_renamed = source is not text
        self._borders = None if markers is None else markers.borders_in(source)
        self._link_positions: set[tuple[int, int] | None] = set()
        self._document = turbohtml.parse(source, allow_declarative_shadow_roots=False)
        self._read()

    @property
    def markers_missing(self) -> bool:
        """Whether the page should have markers and has none."""
        return self._borders == []

    def take_text(self) -> str:
        """Return the visible text. The tree cannot be used afterwards."""
        document = strip_comments_node(self._document)
        self._drop_invisible()
        document.strip_tags(_WITHIN_WORDS_RENAMED if self._is_renamed else _WITHIN_WORDS)
        if document.root is not None:
            document.root.normalize()
        return self._as_written(" ".join(document.strings))

    def take_run(self) -> str:
        """Return the visible text as one run of characters, in a third of the time.

        Words with only a tag between them run together.
        """
        self._drop_invisible()
        return self._as_written(self._document.text)

    def _drop_invisible(self) -> None:
        for element in self._document.iter_elements(_INVISIBLE):
            element.decompose()

    def _read(self) -> None:
        # Templates are for scripts.
        if self._document.find("template") is not None:
            self._document.remove("template")
        handlers = self._HANDLERS
        for element in self._document.iter_elements(handlers):
            if element.namespace is Namespace.HTML:
                handlers[element.tag](self, element)

    def _note_link(self, element: Element) -> None:
        href = self._attribute(element, "href")
        position = element.position
        # The tree repeats an unclosed link in every paragraph; the page has it once.
        if href is None or position in self._link_positions:
            return
        borders = self._borders
        if len(self.hrefs) < _MAX_HREFS and (borders is None or is_between(borders, position)):
            self._link_positions.add(position)
            self.hrefs.append(href.strip(_WHITE_SPACE))

    def _note_base(self, element: Element) -> None:
        href = self._attribute(element, "href")
        if href is not None and len(self.bases) < _MAX_BASES:
            self.bases.append(href.strip(_WHITE_SPACE))

    def _note_meta(self, element: Element) -> None:
        name, content = self._attribute(element, "name"), self._attribute(element, "content")
        if name and content is not None and len(self.metas) < _MAX_METAS:
            self.metas.append((name[:_MAX_META_LENGTH], content[:_MAX_META_LENGTH]))

    def _note_title(self, element: Element) -> None:
        if self.title is None:
            words = self._as_written(element.text[: 10 * MAX_TITLE_LENGTH]).split()
            self.title = " ".join(words)[:MAX_TITLE_LENGTH]

    def _attribute(self, element: Element, name: str) -> str | None:
        value = element.attr(name)
        return as_written(value) if self._is_renamed and value else value

    def _as_written(self, text: str) -> str:
        return as_written(text) if self._is_renamed else text

    _HANDLERS: ClassVar[dict[str, Callable[["PageReader", Element], None]]] = {
        "a": _note_link,
        f"{PREFIX}a": _note_link,
        "area": _note_link,
        "base": _note_base,
        "meta": _note_meta,
        "title": _note_title,
    }
