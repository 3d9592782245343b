"""The tree of an HTML page, and what is read from it: links, title, text and meta elements.

The tree is the one a browser would build, however malformed the page is: turbohtml implements the
parsing algorithm of the HTML standard. Links in a comment, a script, a template or an SVG do not
count; links in a noscript do, since we run no scripts.
"""

import html
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import turbohtml
from turbohtml import Document, Element, Namespace, parse_fragment

from gossamer.content.charset import Decoded, decode
from gossamer.content.links import Refresh, Tag, parse_refresh, references_of, relation_of, tags_for
from gossamer.content.markers import Markers, Position, is_between
from gossamer.content.parser_limits import (
    PIECE,
    PREFIX,
    RENAMED,
    as_written,
    rename_formatting,
    rename_with_ends,
    with_body,
    without_giant_tags,
)
from gossamer.content.sniff import ContentType
from gossamer.model.names import LinkKind
from gossamer.policy.content_kinds import HYPERLINKS

MAX_TITLE_LENGTH: Final = 500
MAX_HREFS: Final = 100_000

_MAX_METAS: Final = 1_000
_MAX_META_LENGTH: Final = 1_000
_WHITE_SPACE: Final = "\t\n\f\r "

PARSED_AT_ONCE: Final = 4 * PIECE
"""Characters: such a page is read in two milliseconds, and hardly ever in a thread of its own."""

INVISIBLE: Final = frozenset(
    {"iframe", "noembed", "noframes", "noscript", "script", "style", "title"}
)
_INLINE = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q ruby
    s samp small span strike strong sub sup time tt u var wbr
"""
WITHIN_WORDS: Final = frozenset(_INLINE.split())
"""The elements that do not separate the words before and after them."""
_WITHIN_WORDS_RENAMED: Final = WITHIN_WORDS | {f"{PREFIX}{name}" for name in WITHIN_WORDS}
"""The same on a page with renamed elements."""
_FREQUENT: Final = "span, a, code, em, strong"
"""Most of these elements on most pages."""
_FREQUENT_RENAMED: Final = ", ".join(
    f"{PREFIX}{name}" if f"{PREFIX}{name}" in RENAMED else name for name in _FREQUENT.split(", ")
)

_WITHOUT_MEANING: Final = ", ".join(f"{PREFIX}{name}" for name in ("html", "body"))
"""Renamed elements of which a tree has one of its own."""
_RAW_TEXT: Final = frozenset(
    {"iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"}
)
"""Elements in which tags are text."""
_RENAMED_ATTRIBUTE: Final = f'//*[@*[contains(., "{PREFIX}")]]'

_NODE: Final = parse_fragment("")
"""Expressions are evaluated on a node, also those that are not about it."""

XHTML: Final = "application/xhtml+xml"

_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param"}
    | {"source", "track", "wbr"}
)
"""The elements that never have content: HTML knows their tags in either form."""
_ATTRIBUTES: Final = r"""(?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+"""
_OF_XML: Final = re.compile(
    # What is not closed goes on to the end: so no part of a page is searched twice.
    r"<!--.*?(?:-->|\Z)"
    rf"|<(?:script|style)(?=[\s>]){_ATTRIBUTES}>.*?(?:</(?:script|style)|\Z)"
    r"|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
    rf"""|<(?P<empty>[a-zA-Z][^\s/<>"']*+)(?P<attributes>{_ATTRIBUTES})/>""",
    re.DOTALL,
)


class HtmlTree:
    """The contents of a page, from its tree, as written.

    With markers, only the links between them count.
    """

    def __init__(
        self, text: str, markers: Markers | None = None, follow: frozenset[LinkKind] = HYPERLINKS
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
    def languages(self) -> tuple[str | None, ...]:
        """What the page says of its language, the most telling first."""
        return *self._root_languages, self._meta_language

    @property
    def markers_missing(self) -> bool:
        """Whether the page should have markers and has none."""
        return self._borders == []

    def take_text(self) -> str:
        """Return the visible text. The tree cannot be used afterwards."""
        return self._as_written(visible_text(self._document, is_renamed=self._is_renamed))

    def take_unspaced_text(self) -> str:
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


_Handler: TypeAlias = Callable[[HtmlTree, Element], None]
"""What is done with an element of a page."""


@cache
def _links_for(follow: frozenset[LinkKind]) -> Mapping[str, LinkKind]:
    """Return which elements are links whatever their relation; a crawl has one or two such sets."""
    links = {"a": LinkKind.A, f"{PREFIX}a": LinkKind.A, "area": LinkKind.AREA}
    return {name: kind for name, kind in links.items() if kind in follow}


@cache
def _handlers_for(follow: frozenset[LinkKind]) -> Mapping[str, _Handler]:
    """Return what is done with which other elements."""
    reader = HtmlTree
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


def decode_markup(body: bytes, label: ContentType) -> Decoded:
    """Return the characters of a page, and in which encoding it was sent."""
    text, encoding = decode(body, label.charset)
    return Decoded(_OF_XML.sub(_as_html, text) if label.essence == XHTML else text, encoding)


def _as_html(match: re.Match[str]) -> str:
    if match["text"] is not None:
        return html.escape(match["text"], quote=False)
    name = match["empty"]
    is_same = name is None or name in _VOID
    return match[0] if is_same else f"<{name}{match['attributes']}></{name}>"


def parse_in_pieces(source: str, piece: int = PIECE, at_once: int = PARSED_AT_ONCE) -> Document:
    """Return the tree of a page; other threads have their turn while that of a large one grows.

    In pieces it takes half as long again. What is in a template does not count, and is left aside
    or to be removed.
    """
    if len(source) <= at_once:
        return turbohtml.parse(source, allow_declarative_shadow_roots=False)
    parser = turbohtml.IncrementalParser()
    for start in range(0, len(source), piece):
        parser.feed(source[start : start + piece])
    return parser.close()


def parse_tree(source: str) -> Document:
    """Return the tree of a page: that of the HTML standard, but never out of proportion to it."""
    slim = without_giant_tags(source)
    renamed = rename_with_ends(slim)
    document = turbohtml.parse(renamed, allow_declarative_shadow_roots=False)
    if renamed is not slim:
        document.strip_tags(_WITHOUT_MEANING)
        _give_back_names(document)
    return document


def visible_text(document: Document, *, is_renamed: bool = False) -> str:
    """Return the visible text. The tree cannot be used afterwards."""
    # It loads a sanitiser too, and most crawls want no text.
    from turbohtml.clean import strip_comments_node  # noqa: PLC0415

    document = strip_comments_node(document)
    drop_invisible(document)
    # To unwrap the frequent ones at once and the rest one by one takes a third of the time of
    # unwrapping all at once, for which each element is compared with one name after the other.
    document.strip_tags(_FREQUENT_RENAMED if is_renamed else _FREQUENT)
    for element in document.iter_elements(_WITHIN_WORDS_RENAMED if is_renamed else WITHIN_WORDS):
        element.unwrap()
    if document.root is not None:
        document.root.normalize()
    return " ".join(document.strings)


def drop_invisible(document: Document) -> None:
    """Remove the elements that a browser does not show."""
    for element in document.iter_elements(INVISIBLE):
        element.decompose()


def _give_back_names(document: Document) -> None:
    """Let elements, and what was renamed in attributes or texts, be as they were written."""
    for element in document.iter_elements(RENAMED):
        element.tag = element.tag.removeprefix(PREFIX)
    for node in [*document.xpath_iter(_RENAMED_ATTRIBUTE)]:
        attributes = node.attrs if isinstance(node, Element) else {}
        for name, value in [*attributes.items()]:
            if isinstance(value, str) and PREFIX in value:
                attributes[name] = as_written(value)
    for element in document.iter_elements(_RAW_TEXT):
        if PREFIX in element.text:
            element.set_text(as_written(element.text))


def with_single_spaces(text: str) -> str:
    """Return the words of a text with one space between them.

    This is what splitting and joining it yields, without making a string of each word.
    """
    spaced = str(_NODE.xpath("normalize-space($text)", text=text.replace("\xa0", " ")))
    # XPath knows no white space but that of XML. All other is not printable.
    return spaced if spaced.isprintable() else " ".join(spaced.split())
