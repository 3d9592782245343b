"""The main part of a page: what it says, without navigation, header, footer and sidebar; laid out.

The parser finds the element that reads most like running text, as the reader modes of browsers do.
On a manual that is often one section of many. So what stands beside it is taken in as well, up to
the body, as long as it says something itself; menus, which are mostly links, are left out.

A section with a heading and a sentence is no menu, however many links there are in its tables, nor
is one with a heading among others of its kind. And a page that is mostly menus is a table of
contents: they stay.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from turbohtml import Document, Element, Node, Text

from gossamer.content.similarity import words_of
from gossamer.content.tables import blocks_in_tables
from gossamer.model import Url

MIN_CHARACTERS: Final = 250
"""A page of which less than this reads as content is taken as a whole."""
MIN_WORDS: Final = 5
"""What says less than this beside its links is no content."""
MIN_SENTENCE: Final = 8
"""So many words beside its links make a paragraph a sentence, not the entry of a menu."""
MAX_LINKED: Final = 2
"""A sentence has at most so many times its other words in links."""
MAX_MENUS: Final = 2
"""A page with more than so many times the rest of its words in menus is a table of contents."""

_DESIGNATED: Final = "main, [role=main]"
_ANY: Final = ("div", "")
"""The kind of an element that says nothing about itself."""
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_HEADING: Final = ", ".join(sorted(_HEADINGS))
# Only a hostile page has hundreds of these in each other; counting them all would take its time.
_LINK: Final = "a[href]:not(a[href] a)"
_PARAGRAPH: Final = "p:not(:has(p))"
_FRAME: Final = "nav, aside, [role=navigation], [role=search], [role=complementary]"
_FRAME_TAGS: Final = frozenset({"nav", "aside", "header", "footer", "form", "script", "style"})
_FRAME_ROLES: Final = frozenset(
    {"navigation", "search", "complementary", "banner", "contentinfo", "doc-toc"}
)
_FRAME_CLASSES: Final = frozenset({"navheader", "navfooter", "docnav"})
"""What DocBook and Publican write around their pages: titles, which are not always links."""

_NOT_SHOWN: Final = frozenset({"iframe", "noembed", "noframes", "title"})
"""What has markup as its text, for other browsers, and the titles of drawings."""
_FOR_OTHERS: Final = "noscript:not(:has(img))"
"""An image that is there without scripts is one that scripts show."""
_BLOCKS: Final = frozenset(
    {"center", "dialog", "fieldset", "form", "hgroup", "legend", "marquee", "search"}
)
_AS_WRITTEN: Final = frozenset({"listing", "plaintext", "xmp"})
_BOXES: Final = frozenset(
    {"audio", "button", "canvas", "noscript", "object", "optgroup", "option", "select", "textarea"}
    | {"text", "video"}  # the former of SVG
)
"""What stands in a line, and is not part of the words before and after it."""
_NO_BREAK: Final = "\xa0"
"""The space of `Chapter 6.`: in headings, and only there, Markdown would have it as an entity."""
_EMPTY_LINES: Final = re.compile(r"\n\s*\n")
_LOOSE_LISTS: Final = """
    descendant-or-self::*[self::ul or self::ol or self::menu]
        [text()[normalize-space()] or *[not(self::li or self::ul or self::ol or self::menu)]]
"""


def take_main_part(document: Document, url: Url) -> Document | Element:
    """Return the element with the main content, or all of the page; the tree loses its menus.

    The links are absolute.
    """
    designated = document.select(_DESIGNATED)
    if len(designated) == 1 and len(designated[0].text) >= MIN_CHARACTERS:
        return _without_frames(designated[0])
    content = document.main_content()
    if content is None or len(content.text) < MIN_CHARACTERS:
        return document
    return _without_frames(_with_neighbours(content, url))


class _Beside(NamedTuple):
    """What stands beside an element, in the one around it."""

    says_more: bool
    """Whether some of it belongs to the content."""
    frames: list[Element]
    menus: list[Element]


def _with_neighbours(content: Element, url: Url) -> Element:
    """Return the nearest element around another that has all content beside it."""
    best, frames, menus, passed = content, list[Element](), list[Element](), list[Element]()
    inner, outer = content, content.parent
    while isinstance(outer, Element) and outer.tag != "html":
        beside = _beside(inner, outer)
        frames += beside.frames
        for menu in beside.menus:
            (frames if _leads_to(url, menu) else passed).append(menu)
        if beside.says_more:
            best = outer
            menus += passed
            passed.clear()
        inner, outer = outer, outer.parent
    for frame in frames:
        frame.decompose()
    within = _words_in(menus)
    left_out = within + _words_in(passed)
    if left_out and left_out > MAX_MENUS * (_words_in([best]) - within):
        return inner
    for menu in menus:
        menu.decompose()
    return best


def _beside(inner: Element, outer: Element) -> _Beside:
    says_more, is_before = _says_something(outer), True
    frames, lists, kinds = list[Element](), list[Element](), {_kind(inner)}
    for child in outer.children:
        if not isinstance(child, Element):
            continue
        if child == inner:
            is_before = False
        elif _is_frame(child):
            frames.append(child)
        elif _is_menu(child):
            lists.append(child)
        elif _has_heading(child):
            kinds.add(_kind(child))
            says_more = says_more or is_before or _counted(child)[0] >= MIN_WORDS
        else:
            says_more = says_more or _counted(child)[0] >= MIN_WORDS
    kinds.discard(_ANY)
    menus = [menu for menu in lists if _kind(menu) not in kinds or not _has_heading(menu)]
    return _Beside(says_more or len(menus) < len(lists), frames, menus)


def _is_frame(element: Element) -> bool:
    return (
        element.tag in _FRAME_TAGS
        or element.attr("role") in _FRAME_ROLES
        or (element.attr("class") or "").lower() in _FRAME_CLASSES
    )


def _kind(element: Element) -> tuple[str, str]:
    """Return what parts of a page that are alike have in common."""
    return element.tag, element.attr("class") or ""


def _has_heading(element: Element) -> bool:
    return element.tag in _HEADINGS or element.select_one(_HEADING) is not None


def _says_something(parent: Element) -> bool:
    """Tell whether an element has text of its own, between its elements."""
    text = "".join(child.text for child in parent.children if isinstance(child, Text))
    return len(words_of(text)) >= MIN_WORDS


def _is_menu(element: Element) -> bool:
    plain, linked = _counted(element)
    return linked > max(plain, MIN_WORDS) and not _has_sentence(element)


def _has_sentence(element: Element) -> bool:
    """Tell whether a paragraph is one, or a section with a heading has one."""
    if element.tag == "p":
        return _is_sentence(element)
    return element.select_one(_HEADING) is not None and any(
        map(_is_sentence, element.select(_PARAGRAPH))
    )


def _is_sentence(paragraph: Element) -> bool:
    plain, linked = _counted(paragraph)
    return plain >= MIN_SENTENCE and linked <= MAX_LINKED * plain


def _leads_to(url: Url, menu: Element) -> bool:
    """Tell whether a menu has the page itself: then it is one of the site, not of the page."""
    return any((link.attr("href") or "").removesuffix("#") == url for link in menu.select(_LINK))


def _counted(element: Element) -> tuple[int, int]:
    """Return how many words are outside of links, and how many inside."""
    linked = _words_in(element.select(_LINK))
    return max(0, _words_in([element]) - linked), linked


def _words_in(elements: Iterable[Element]) -> int:
    """Return the number of words; entries of a list may have nothing but tags between them."""
    return len(words_of(" ".join(text for element in elements for text in element.strings)))


def _without_frames(element: Element) -> Element:
    for frame in element.select(_FRAME):
        frame.decompose()
    return element


def laid_out(part: Document | Element) -> Document | Element:
    """Return a part of a page with everything shown as in a browser; the tree is changed."""
    for element in [*part.iter_elements(_NOT_SHOWN), *part.select(_FOR_OTHERS)]:
        element.decompose()
    for tag, others in (("div", _BLOCKS), ("pre", _AS_WRITTEN), ("ul", {"dir"})):
        for element in [*part.iter_elements(others)]:
            element.tag = tag
    for element in [*part.iter_elements(_BOXES)]:
        element.insert_before(Text(" "))
        element.insert_after(Text(" "))
    _take_no_break_spaces(part)
    if isinstance(part, Element):
        part = _whole_table(part)
    for caption in part.select("table > caption"):
        if isinstance(table := caption.parent, Element):
            table.insert_before(caption.extract())
            caption.tag = "p"
    return part


def _take_no_break_spaces(part: Document | Element) -> None:
    for heading in part.iter_elements(_HEADINGS):
        for node in heading.descendants:
            if isinstance(node, Text) and _NO_BREAK in node.data:
                node.data = node.data.replace(_NO_BREAK, " ")


def without_empty_lines(part: Document | Element) -> Document | Element:
    """Return a part without empty lines in its tables; the tree is changed.

    One that Markdown has no way to write is HTML there, which an empty line would end.
    """
    for listing in part.select("table pre:not(pre pre)"):
        for node in _with_empty_lines(listing):
            first, *others = node.data.split("\n")
            node.data = first
            for line in reversed(others):
                node.insert_after(Text(line))
                node.insert_after(Element("br"))
    for table in part.select("table:not(table table)"):
        for node in _with_empty_lines(table):
            node.data = _EMPTY_LINES.sub("\n", node.data)
    return part


def _with_empty_lines(element: Element) -> list[Text]:
    return [
        node
        for node in element.descendants
        if isinstance(node, Text) and _EMPTY_LINES.search(node.data)
    ]


def in_lines(part: Document | Element) -> Document | Element:
    """Return a part as lines of text need it; Markdown does not. The tree is changed.

    Lists with more than entries are blocks, and in cells there is a line break around blocks.
    """
    for element in [*part.xpath_iter(_LOOSE_LISTS)]:
        if isinstance(element, Element):
            element.tag = "div"
    for element in blocks_in_tables(part):
        if element.tag != "br":
            if _is_text(element.previous_sibling):
                element.insert_before(Element("br"))
            if _is_text(element.next_sibling):
                element.insert_after(Element("br"))
    return part


def _is_text(node: Node | None) -> bool:
    return isinstance(node, Text) and not node.text.isspace()


def _whole_table(part: Element) -> Element:
    """Return an element with the table that rows are in; anything else as it is."""
    if part.tag == "tr":
        part = part.wrap(Element("table"))
    elif part.tag in {"tbody", "thead", "tfoot"}:
        part = part.closest("table") or part
    return part.wrap(Element("div")) if part.tag == "table" else part
