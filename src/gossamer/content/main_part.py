"""The main part of a page: what it says, without navigation, header, footer and sidebar.

The parser finds the element that reads most like running text, as the reader modes of browsers do.
On a manual that is often one section of many. So what stands beside it is taken in as well, up to
the body, as long as it says something itself; menus, which are mostly links, are left out.
"""

from typing import Final

from turbohtml import Document, Element

MIN_CHARACTERS: Final = 250
"""A page of which less than this reads as content is taken as a whole."""
MIN_WORDS: Final = 5
"""What says less than this beside its links is no content."""

_DESIGNATED: Final = "main, [role=main]"
_FRAME: Final = "nav, aside, [role=navigation], [role=search], [role=complementary]"
_FRAME_TAGS: Final = frozenset({"nav", "aside", "header", "footer", "form", "script", "style"})
_FRAME_ROLES: Final = frozenset(
    {"navigation", "search", "complementary", "banner", "contentinfo", "doc-toc"}
)


def take_main_part(document: Document) -> Document | Element:
    """Return the element with the main content, or all of the page; the tree loses its menus."""
    designated = document.select(_DESIGNATED)
    if len(designated) == 1 and len(designated[0].text) >= MIN_CHARACTERS:
        return _without_frames(designated[0])
    found = document.main_content()
    if found is None or len(found.text) < MIN_CHARACTERS:
        return document
    return _without_frames(_with_neighbours(found))


def _with_neighbours(found: Element) -> Element:
    """Return the nearest element around another that has all content beside it."""
    best, menus, passed = found, list[Element](), list[Element]()
    inner, outer = found, found.parent
    while isinstance(outer, Element) and outer.tag != "html":
        says_more = False
        for child in outer.children:
            if not isinstance(child, Element) or child == inner:
                continue
            if _is_menu(child):
                passed.append(child)
            else:
                says_more = says_more or _counted(child)[0] >= MIN_WORDS
        if says_more:
            best = outer
            menus += passed
            passed.clear()
        inner, outer = outer, outer.parent
    for menu in menus:
        menu.decompose()
    return best


def _is_menu(element: Element) -> bool:
    if element.tag in _FRAME_TAGS or element.attr("role") in _FRAME_ROLES:
        return True
    plain, linked = _counted(element)
    return linked > max(plain, MIN_WORDS)


def _counted(element: Element) -> tuple[int, int]:
    """Return how many words are outside of links, and how many inside."""
    linked = sum(len(link.text.split()) for link in element.select("a"))
    return max(0, len(element.text.split()) - linked), linked


def _without_frames(element: Element) -> Element:
    for frame in element.select(_FRAME):
        frame.decompose()
    return element
