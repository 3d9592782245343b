"""The reader of HTML pages: links, title, text and meta elements from the tree.

The tree is the one a browser would build, however malformed the page is: turbohtml implements the
parsing algorithm of the HTML standard. Links in a comment, a script, a template or an SVG do not
count; links in a noscript do, since we run no scripts.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from turbohtml import Element, Namespace

from gossamer.content.bulk import with_body, without_giant_tags
from gossamer.content.language import first_language
from gossamer.content.limits import PREFIX, as_written, rename_formatting
from gossamer.content.markers import Markers, Position, is_between
from gossamer.content.references import Tag, references_of, relation_of, tags_for
from gossamer.content.refresh import Refresh, parse_refresh
from gossamer.content.tree import drop_invisible, parse_in_pieces, visible_text
from gossamer.kinds import LinkKind
from gossamer.policy.link_kinds import HYPERLINKS

MAX_TITLE_LENGTH: Final = 500
MAX_HREFS: Final = 100_000

_MAX_METAS: Final = 1_000
_MAX_META_LENGTH: Final = 1_000
_WHITE_SPACE: Final = "\t\n\f\r "


class PageReader:
    """The contents of a page, from its tree, as written.

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
        """The links of the kinds to follow."""
        self.kinds: list[LinkKind] = []
        """The kind of each link."""
        self.refresh: Refresh | None = None
        """The first one, as browsers heed no other."""
        self.base: str | None = None
        """What links are relative to: the first one, as browsers heed no other."""
        self.metas: list[tuple[str, str]] = []
        slim = without_giant_tags(text)
        renamed = rename_formatting(slim)
        source = with_body(renamed)
        self._follow = follow
        self._is_renamed = renamed is not slim
        self._borders = None if markers is None else markers.borders_in(source)
        self._document = parse_in_pieces(source)
        self._linked: list[Element] = []
        """The element of each link."""
        self._root_languages: tuple[str | None, ...] = ()
        self._meta_language: str | None = None
        self._read()

    @property
    def language(self) -> str:
        """The language that the page names; empty if it does not."""
        return first_language((*self._root_languages, self._meta_language))

    @property
    def markers_missing(self) -> bool:
        """Whether the page should have markers and has none."""
        return self._borders == []

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
        if (root := self._document.root) is not None:
            self._root_languages = root.attr("lang"), root.attr("xml:lang")
        links, handlers = _links_for(self._follow), _handlers_for(self._follow)
        hrefs, kinds, linked = self.hrefs, self.kinds, self._linked
        for element, name in self._elements((*links, *handlers)):
            if name not in links:
                handlers[name](self, element)
            # Most elements are links: a call for each would take longer than all of this.
            elif (href := element.attr("href")) is not None:
                href = href.strip(_WHITE_SPACE)
                hrefs.append(as_written(href) if "<" in href and self._is_renamed else href)
                kinds.append(links[name])
                linked.append(element)
        self._choose_links()

    def _elements(self, names: Iterable[str]) -> Iterable[tuple[Element, str]]:
        """Return the elements of HTML that have these names, each with its name."""
        elements = [*self._document.iter_elements((*names, "template", "svg", "math"))]
        tags = [element.tag for element in elements]
        if "template" in tags:  # templates are for scripts
            self._document.remove("template")
            return self._elements(names)
        if "svg" in tags or "math" in tags:
            elements = [element for element in elements if element.namespace is Namespace.HTML]
            tags = [element.tag for element in elements]
        return zip(elements, tags, strict=True)

    def _choose_links(self) -> None:
        """Leave out the links that are not between markers, or that only the tree repeats."""
        # A tree repeats an unclosed link in every paragraph, unless it is renamed.
        is_repeated = not self._is_renamed and len({*self.hrefs}) < len(self.hrefs)
        if self._borders is None and not is_repeated and len(self.hrefs) <= MAX_HREFS:
            return
        first: dict[Position | None, Element] = {}
        chosen = [
            link
            for link, element in enumerate(self._linked)
            if first.setdefault(place := element.position, element) is element
            and (self._borders is None or is_between(self._borders, place))
        ][:MAX_HREFS]
        self.hrefs = [self.hrefs[link] for link in chosen]
        self.kinds = [self.kinds[link] for link in chosen]

    def note_related(self, element: Element) -> None:
        """Note a `link`; or an `a` or `area` if only its relation is followed."""
        tag = self._tag(element)
        kind, href = relation_of(tag), tag.attr("href")
        if kind is not None and kind in self._follow and href is not None:
            self._add_link(element, href, kind)

    def note_references(self, element: Element) -> None:
        """Note what another element leads to."""
        for kind, href in references_of(self._tag(element)):
            if kind in self._follow:
                self._add_link(element, href, kind)

    def _add_link(self, element: Element, href: str, kind: LinkKind) -> None:
        self.hrefs.append(href.strip(_WHITE_SPACE))
        self.kinds.append(kind)
        self._linked.append(element)

    def note_base(self, element: Element) -> None:
        """Note what links are relative to."""
        if self.base is None and (href := self._tag(element).attr("href")) is not None:
            self.base = href.strip(_WHITE_SPACE)

    def note_meta(self, element: Element) -> None:
        """Note a name with its content, and a refresh."""
        tag = self._tag(element)
        name, content = tag.attr("name"), tag.attr("content")
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
        if name == "refresh" and self.refresh is None and not element.closest("noscript"):
            self.refresh = parse_refresh(content)

    def note_title(self, element: Element) -> None:
        """Note the title, if it is the first."""
        if self.title is None:
            words = self._tag(element).text[: 10 * MAX_TITLE_LENGTH].split()
            self.title = " ".join(words)[:MAX_TITLE_LENGTH]

    def _tag(self, element: Element) -> Tag:
        """Return an element as it was written."""
        return _RenamedTag(element) if self._is_renamed else element

    def _as_written(self, text: str) -> str:
        return as_written(text) if self._is_renamed else text


_Handler: TypeAlias = Callable[[PageReader, Element], None]
"""What is done with an element of a page."""


@cache
def _links_for(follow: frozenset[LinkKind]) -> Mapping[str, LinkKind]:
    """Return which elements are links whatever their relation; a crawl has one or two such sets."""
    links = {"a": LinkKind.A, f"{PREFIX}a": LinkKind.A, "area": LinkKind.AREA}
    return {name: kind for name, kind in links.items() if kind in follow}


@cache
def _handlers_for(follow: frozenset[LinkKind]) -> Mapping[str, _Handler]:
    """Return what is done with which other elements."""
    reader = PageReader
    handlers: dict[str, _Handler] = {
        "base": reader.note_base,
        "meta": reader.note_meta,
        "title": reader.note_title,
    }
    handlers |= dict.fromkeys(tags_for(follow), reader.note_references)
    if "link" in handlers:
        handlers |= dict.fromkeys(("link", "a", f"{PREFIX}a", "area"), reader.note_related)
    return handlers


class _RenamedTag(NamedTuple):
    """An element of a page in which elements were renamed, as it was written."""

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
