"""A mirror: the pages of a crawl as a directory that a browser reads offline.

A page is written in UTF-8 and says so. All its links are absolute at first; when the output is
finished, those to pages that were kept are made relative. Everything else stays as it was sent.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from turbohtml.rewrite import Element, rewrite

from gossamer.content.kind import parse_content_type
from gossamer.content.links import ResolvedLinks, base_url
from gossamer.content.markup import decode_markup
from gossamer.kinds import ContentKind
from gossamer.model import Page
from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.directory import DirectoryOutput
from gossamer.outputs.html_links import rewrite_css, rewrite_html
from gossamer.outputs.page_links import AbsoluteLinks, FindPath, local_link
from gossamer.outputs.page_paths import START_NAME, UNKNOWN_TYPE, extension_of, relative_link

_CHARSET: Final = '<meta charset="utf-8">'
_STYLE_SHEET: Final = ".css"
_PAGE: Final = ".html"
_START: Final = """<!doctype html>
<meta charset="utf-8">
<title>{link}</title>
<meta http-equiv="refresh" content="0; url={link}">
<a href="{link}">{link}</a>
"""


class MirrorForm:
    """Pages as HTML files with links between them, and other bodies as they are."""

    start_name: str | None = START_NAME
    follows_depths = False

    def __init__(self) -> None:
        self._resolved = ResolvedLinks()

    def takes(self, page: Page) -> bool:
        """Tell that every page has its place."""
        return True

    def extension(self, page: Page) -> str:
        """Return what the name of the page's file ends in."""
        if _is_html(page):
            return _PAGE
        found = extension_of(page.url, _type(page))
        # It was sent as HTML, and is something else.
        return extension_of(page.url, UNKNOWN_TYPE) if found == _PAGE else found

    def content(self, page: Page) -> bytes:
        """Return the page with absolute links."""
        if _is_html(page):
            return self._html(page).encode(errors="replace")
        if self.extension(page) == _STYLE_SHEET:
            links = AbsoluteLinks(page.url, page.url, "utf-8", self._resolved)
            return _rewritten_css(page.body, links)
        return page.body

    def _html(self, page: Page) -> str:
        text, encoding = decode_markup(page.body, parse_content_type(page.content_type))
        prepared, href = _prepared(text)
        base = base_url(page.url, href)
        return rewrite_html(prepared, AbsoluteLinks(page.url, base, encoding, self._resolved))

    def localised(self, content: bytes, path: str, find: FindPath) -> bytes:
        """Return a file with relative links to the pages that are kept."""

        def replace(href: str) -> str | None:
            return local_link(href, path, find)

        if path.endswith(_PAGE):
            with suppress(UnicodeDecodeError):  # once a page, and something else when seen again
                return rewrite_html(content.decode(), replace).encode()
        return _rewritten_css(content, replace) if path.endswith(_STYLE_SHEET) else content

    def with_depth(self, content: bytes, depth: int) -> bytes:
        """Return the file as it is: it shows no depth."""
        return content

    def start(self, first: str) -> bytes:
        """Return a file at the top that leads to the first page."""
        return _START.format(link=relative_link(START_NAME, first)).encode()


def _type(page: Page) -> str:
    return parse_content_type(page.content_type).essence


def _is_html(page: Page) -> bool:
    return page.kind is ContentKind.HTML


def _prepared(text: str) -> tuple[str, str | None]:
    """Return the page with UTF-8 as its only declared encoding, and without its base elements.

    Also what the first of these says: where the links of the page are relative to.
    """
    bases: list[str] = []
    placed: list[str] = []

    def declare(element: Element) -> None:
        if not placed:
            placed.append(element.tag)
            element.prepend(_CHARSET, html=True)

    def remove(element: Element) -> None:
        if element.tag == "base" and (href := element.get("href")) is not None:
            bases.append(href.strip())
        element.remove()

    removed = "base, meta[charset], meta[http-equiv='content-type' i]"
    prepared = rewrite(text, elements=[("head", declare), (removed, remove)])
    if not placed:
        end = _doctype_end(prepared)
        prepared = prepared[:end] + _CHARSET + prepared[end:]
    return prepared, next(iter(bases), None)


def _doctype_end(text: str) -> int:
    """Return where the document type ends; 0 if the page does not begin with one."""
    start = len(text) - len(text.lstrip("\ufeff\t\n\f\r "))
    return text.find(">") + 1 if text[start : start + 9].lower() == "<!doctype" else 0


def _rewritten_css(content: bytes, replace: Callable[[str], str | None]) -> bytes:
    text = content.decode(errors="surrogateescape")
    return rewrite_css(text, replace).encode(errors="surrogateescape")


def mirror(spec: OutputSpec) -> DirectoryOutput:
    """Make a mirror directory."""
    return DirectoryOutput(spec, MirrorForm())
