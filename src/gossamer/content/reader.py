"""Everything a crawler wants from a page, read off its tree.

The tree is the one a browser would build, however badly the page is written: the HTML standard's
parsing algorithm, by turbohtml. What stands in a comment, a script, a template or a drawing is no
link; what stands in a noscript is one, since we run no scripts.
"""

from collections.abc import Callable
from typing import ClassVar, Final

import turbohtml
from turbohtml import Element, Namespace
from turbohtml.clean import strip_comments_node

from gossamer.content.limits import PREFIX, as_written, limited_tree
from gossamer.content.markers import Markers
from gossamer.content.refresh import refresh_target

MAX_TITLE_LENGTH: Final = 500

_MAX_BASES: Final = 100
_MAX_HREFS: Final = 100_000
_MAX_METAS: Final = 1_000
_MAX_META_LENGTH: Final = 1_000

_WHITE_SPACE: Final = "\t\n\f\r "

_NEVER_SHOWN: Final = frozenset(
    {"iframe", "noembed", "noframes", "noscript", "script", "style", "title"}
)
_INLINE = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q ruby
    s samp small span strike strong sub sup time tt u var wbr
"""
_WITHIN_WORDS: Final = ", ".join(_INLINE.split())
"""The elements that do not part the words before and after them."""
_WITHIN_LIMITS_WORDS: Final = ", ".join(f"{name}, {PREFIX}{name}" for name in _INLINE.split())
"""The same on a limited page. Each name costs time, so they are not looked for elsewhere."""


class PageReader:
    """What is on a page, as written. With markers, only the links between them."""

    def __init__(self, text: str, markers: Markers | None = None) -> None:
        self.title: str | None = None
        self.hrefs: list[str] = []
        self.links_cut = False
        self.bases: list[str] = []
        self.metas: list[tuple[str, str]] = []
        self.refreshes: list[str] = []
        limited = limited_tree(text)
        self._is_within_limits = limited is not text
        self._parts = None if markers is None else markers.parts_of(limited)
        self._link_positions: set[tuple[int, int] | None] = set()
        self._document = turbohtml.parse(limited, allow_declarative_shadow_roots=False)
        self._read()

    @property
    def markers_missing(self) -> bool:
        """Whether there should be markers on the page, and are none."""
        return self._parts is not None and not self._parts

    def take_text(self) -> str:
        """Return the text that a reader of the page sees. The tree is used up by it."""
        document = strip_comments_node(self._document)
        self._drop_what_is_never_shown()
        document.strip_tags(_WITHIN_LIMITS_WORDS if self._is_within_limits else _WITHIN_WORDS)
        if document.root is not None:
            document.root.normalize()
        return self._as_written(" ".join(document.strings))

    def take_run(self) -> str:
        """Return the same in a third of the time: as one run of characters.

        Words that have nothing but a tag between them run together.
        """
        self._drop_what_is_never_shown()
        return self._as_written(self._document.text)

    def _drop_what_is_never_shown(self) -> None:
        for element in self._document.iter_elements(_NEVER_SHOWN):
            element.decompose()

    def _read(self) -> None:
        # Templates are content for scripts.
        if self._document.find("template") is not None:
            self._document.remove("template")
        notes = self._NOTES
        for element in self._document.iter_elements(notes):
            if element.namespace is Namespace.HTML:
                notes[element.tag](self, element)

    def _note_link(self, element: Element) -> None:
        href = self._attribute(element, "href")
        position = element.position
        # The tree repeats a link that is not closed in every paragraph; the page has it once.
        if href is None or position in self._link_positions:
            return
        if len(self.hrefs) >= _MAX_HREFS:
            self.links_cut = True
        elif self._parts is None or position in self._parts:
            self._link_positions.add(position)
            self.hrefs.append(href.strip(_WHITE_SPACE))

    def _note_base(self, element: Element) -> None:
        href = self._attribute(element, "href")
        if href is not None and len(self.bases) < _MAX_BASES:
            self.bases.append(href.strip(_WHITE_SPACE))

    def _note_meta(self, element: Element) -> None:
        name, content = self._attribute(element, "name"), self._attribute(element, "content")
        if content is None:
            return
        if name and len(self.metas) < _MAX_METAS:
            self.metas.append((name[:_MAX_META_LENGTH], content[:_MAX_META_LENGTH]))
        if (element.attr("http-equiv") or "").lower() == "refresh" and not self.refreshes:
            target = refresh_target(content)
            if target is not None:
                self.refreshes.append(target)

    def _note_title(self, element: Element) -> None:
        if self.title is None:
            words = self._as_written(element.text[: 10 * MAX_TITLE_LENGTH]).split()
            self.title = " ".join(words)[:MAX_TITLE_LENGTH]

    def _attribute(self, element: Element, name: str) -> str | None:
        value = element.attr(name)
        return as_written(value) if self._is_within_limits and value else value

    def _as_written(self, text: str) -> str:
        return as_written(text) if self._is_within_limits else text

    _NOTES: ClassVar[dict[str, Callable[["PageReader", Element], None]]] = {
        "a": _note_link,
        f"{PREFIX}a": _note_link,
        "area": _note_link,
        "base": _note_base,
        "meta": _note_meta,
        "title": _note_title,
    }
