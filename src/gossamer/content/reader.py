"""The reader of HTML pages: links, title, text and meta elements from the tree.

The tree is the one a browser would build, however malformed the page is: turbohtml implements the
parsing algorithm of the HTML standard. Links in a comment, a script, a template or an SVG do not
count; links in a noscript do, since we run no scripts.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final, TypeAlias

import turbohtml
from turbohtml import Element, Namespace

from gossamer.content.language import first_language
from gossamer.content.limits import PREFIX, as_written, rename_formatting
from gossamer.content.markers import Markers, Position, is_between
from gossamer.content.references import references_of, relation_of, tags_for
from gossamer.content.refresh import Refresh, parse_refresh
from gossamer.content.tree import drop_invisible, visible_text
from gossamer.kinds import LinkKind
from gossamer.policy.link_kinds import HYPERLINKS

MAX_TITLE_LENGTH: Final = 500

_MAX_BASES: Final = 100
_MAX_HREFS: Final = 100_000
_MAX_METAS: Final = 1_000
_MAX_META_LENGTH: Final = 1_000

_WHITE_SPACE: Final = "\t\n\f\r "


class PageReader:
    """The contents of a page, as written: its links of the kinds to follow, and the rest.

    With markers, only the links between them count.
    """

    def __init__(
        self,
        text: str,
        markers: Markers | None = None,
        follow: frozenset[LinkKind] = HYPERLINKS,
    ) -> None:
        self.title: str | None = None
        self.hrefs: list[str] = []
        self.kinds: list[LinkKind] = []
        """The kind of each link."""
        self.refresh: Refresh | None = None
        """The first one, as browsers heed no other."""
        self.bases: list[str] = []
        self.metas: list[tuple[str, str]] = []
        source = rename_formatting(text)
        self._is_renamed = source is not text
        self._follow = follow
        self._borders = None if markers is None else markers.borders_in(source)
        self._link_positions: set[tuple[int, int] | None] = set()
        self._meta_language: str | None = None
        self._document = turbohtml.parse(source, allow_declarative_shadow_roots=False)
        self._read()

    @property
    def markers_missing(self) -> bool:
        """Whether the page should have markers and has none."""
        return self._borders == []

    def language(self) -> str:
        """Return the language that the page names; empty if it does not."""
        root = self._document.root
        named = () if root is None else (root.attr("lang"), root.attr("xml:lang"))
        return first_language((*named, self._meta_language))

    def take_text(self) -> str:
        """Return the visible text. The tree cannot be used afterwards."""
        return self._as_written(visible_text(self._document, is_renamed=self._is_renamed))

    def take_run(self) -> str:
        """Return the visible text as one run of characters, in a third of the time.

        Words with only a tag between them run together.
        """
        drop_invisible(self._document)
        return self._as_written(self._document.text)

    def _read(self) -> None:
        # Templates are for scripts.
        if self._document.find("template") is not None:
            self._document.remove("template")
        handlers = _handlers_for(self._follow)
        for element in self._document.iter_elements(handlers):
            if element.namespace is Namespace.HTML:
                handlers[element.tag](self, element)

    def note_link(self, element: Element, kind: LinkKind = LinkKind.A) -> None:
        """Note an element with `href`."""
        href = element.attr("href")
        if href is None or len(self.hrefs) >= _MAX_HREFS:
            return
        # The tree repeats an unclosed link in every paragraph; the page has it once.
        position = element.position
        if position in self._link_positions:
            return
        if self._borders is None or is_between(self._borders, position):
            self._link_positions.add(position)
            self.hrefs.append(self._as_written(href).strip(_WHITE_SPACE))
            self.kinds.append(kind)

    def note_related(self, element: Element) -> None:
        """Note a `link`; or an `a` or `area` if only its relation is followed."""
        kind = relation_of(element)
        if kind is not None and kind in self._follow:
            self.note_link(element, kind)

    def note_references(self, element: Element) -> None:
        """Note what another element leads to."""
        for kind, href in references_of(element):
            if kind in self._follow:
                self._add(kind, href, element.position)

    def _add(self, kind: LinkKind, href: str, position: Position | None) -> None:
        borders = self._borders
        if len(self.hrefs) < _MAX_HREFS and (borders is None or is_between(borders, position)):
            self.hrefs.append(self._as_written(href).strip(_WHITE_SPACE))
            self.kinds.append(kind)

    def note_base(self, element: Element) -> None:
        """Note what links are relative to."""
        href = self._attribute(element, "href")
        if href is not None and len(self.bases) < _MAX_BASES:
            self.bases.append(href.strip(_WHITE_SPACE))

    def note_meta(self, element: Element) -> None:
        """Note a name with its content, and a refresh."""
        name, content = self._attribute(element, "name"), self._attribute(element, "content")
        if content is None:
            return
        if name and len(self.metas) < _MAX_METAS:
            self.metas.append((name[:_MAX_META_LENGTH], content[:_MAX_META_LENGTH]))
        else:
            self._note_pragma(element, content)

    def _note_pragma(self, element: Element, content: str) -> None:
        name = (element.attr("http-equiv") or "").strip(_WHITE_SPACE).lower()
        if name == "content-language" and self._meta_language is None:
            self._meta_language = content
        # In a noscript it sends people away who would miss the scripts; we want the text.
        if name == "refresh" and self.refresh is None and element.closest("noscript") is None:
            self.refresh = parse_refresh(content)

    def note_title(self, element: Element) -> None:
        """Note the title, if it is the first."""
        if self.title is None:
            words = self._as_written(element.text[: 10 * MAX_TITLE_LENGTH]).split()
            self.title = " ".join(words)[:MAX_TITLE_LENGTH]

    def _attribute(self, element: Element, name: str) -> str | None:
        value = element.attr(name)
        return self._as_written(value) if value else value

    def _as_written(self, text: str) -> str:
        return as_written(text) if self._is_renamed and "<" in text else text


_Handler: TypeAlias = Callable[[PageReader, Element], None]


@cache
def _handlers_for(follow: frozenset[LinkKind]) -> Mapping[str, _Handler]:
    """Return what is done with which elements; a crawl has one or two such sets."""
    handlers: dict[str, _Handler] = {
        "base": PageReader.note_base,
        "meta": PageReader.note_meta,
        "title": PageReader.note_title,
    }
    handlers |= dict.fromkeys(tags_for(follow), PageReader.note_references)
    is_related = "link" in handlers
    if is_related:
        handlers["link"] = PageReader.note_related
    if LinkKind.A in follow:
        handlers |= {"a": PageReader.note_link, f"{PREFIX}a": PageReader.note_link}
    elif is_related:
        handlers |= {"a": PageReader.note_related, f"{PREFIX}a": PageReader.note_related}
    if LinkKind.AREA in follow:
        handlers["area"] = partial(PageReader.note_link, kind=LinkKind.AREA)
    elif is_related:
        handlers["area"] = PageReader.note_related
    return handlers
