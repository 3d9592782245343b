"""A mirror: the pages of a crawl as a directory that a browser reads offline.

A page is written in UTF-8 and says so. All its links are absolute at first; when the output is
finished, those to pages that were kept are made relative. Everything else stays as it was sent.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from turbohtml.rewrite import Element, rewrite

from gossamer.content.html_tree import decode_markup
from gossamer.content.links import ResolvedLinks, base_url
from gossamer.content.sniff import parse_content_type
from gossamer.model import Page
from gossamer.model.names import ContentKind
from gossamer.outputs.directory import PageForm
from gossamer.outputs.page_paths import (
    START_NAME,
    UNKNOWN_TYPE,
    AbsoluteLinks,
    FindPath,
    extension_of,
    local_link,
    relative_link,
)

Replace = Callable[[str], str | None]
"""Gets a link as written; returns what to put in its place, or None to leave it."""

_URL_ATTRIBUTES: Final = (
    *("href", "src", "action", "formaction", "poster", "cite", "background", "longdesc"),
    *("xlink:href", "manifest"),
)
_LISTS: Final = ("srcset", "imagesrcset")
_SELECTOR: Final = ", ".join(
    [
        *(rf"[{name.replace(':', chr(92) + ':')}]" for name in (*_URL_ATTRIBUTES, *_LISTS)),
        *("object[data]", "[style]", "meta[http-equiv]", "style", "noscript"),
    ]
)
_HAS_TEXT: Final = re.compile("<(?:style|noscript)", re.IGNORECASE)
_WHITE_SPACE: Final = "\t\n\f\r "
_REFRESH: Final = re.compile(
    r"""(\s*+[\d.]*+(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?["']?)([^"']+)""", re.IGNORECASE
)
_CANDIDATE: Final = re.compile(r"([\s,]*+)(\S++)")
_DESCRIPTORS: Final = re.compile(r"[^,(]*+(?:\([^)]*+\)?[^,(]*+)*+")
"""What stands after the URL of an image in a srcset; a comma in parentheses does not end it."""
_CSS_LINK: Final = re.compile(
    r"""(/\*.*?(?:\*/|\Z))                                      # a comment
      | (\burl\(\s*)(?:"([^"\\\n]*)"|'([^'\\\n]*)'|([^\s"'()\\]+))(\s*\))
      | (@import\s+)(?:"([^"\\\n]*)"|'([^'\\\n]*)')""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_UNSAFE_IN_CSS: Final = re.compile(r"""["'()\\<>\s]""")
_CHARSET: Final = '<meta charset="utf-8">'
_STYLE_SHEET: Final = ".css"
_PAGE: Final = ".html"
_START: Final = """<!doctype html>
<meta charset="utf-8">
<title>{link}</title>
<meta http-equiv="refresh" content="0; url={link}">
<a href="{link}">{link}</a>
"""


def rewrite_html(source: str, replace: Replace) -> str:
    """Return the page with its links replaced, those in its style sheets and frames too."""
    return _rewritten(source, _Rewriter(replace))


def rewrite_css(source: str, replace: Replace) -> str:
    """Return the style sheet with its links replaced."""

    def link(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[0]
        is_import = match[7] is not None
        written = next(filter(None, match.group(3, 4, 5, 8, 9)), "")
        new = replace(written.strip(_WHITE_SPACE))
        if new is None:
            return match[0]
        quoted = _UNSAFE_IN_CSS.sub(lambda char: f"%{ord(char[0]):02X}", new)
        return f'{match[7]}"{quoted}"' if is_import else f'{match[2]}"{quoted}"{match[6]}'

    return _CSS_LINK.sub(link, source)


class _Rewriter:
    """The handler of the elements with links, and of the text in style sheets."""

    def __init__(self, replace: Replace, *, is_within: bool = False) -> None:
        self._replace = replace
        self._is_within = is_within
        """Whether it is in a noscript already, which no other can be in."""
        self._inside = ""
        """The element whose text comes next, if that text has links."""

    def __call__(self, element: Element) -> None:
        """Replace the links of one element."""
        tag = element.tag
        self._inside = tag if tag in {"style", "noscript"} else ""
        for name, value in element.attrs:
            new = self._new_value(tag, name, value, element) if value else None
            if new is not None and new != value:
                element.set_attribute(name, new)

    def text(self, run: Element) -> None:
        """Replace the links in the text of a style sheet."""
        if self._inside == "style":
            _set(run, rewrite_css(run.text, self._replace), "</style")
        elif self._inside == "noscript" and not self._is_within:
            within = _rewritten(run.text, _Rewriter(self._replace, is_within=True))
            _set(run, within, "</noscript")
        self._inside = ""

    def _new_value(self, tag: str, name: str, value: str, element: Element) -> str | None:
        if name in _URL_ATTRIBUTES or (name, tag) == ("data", "object"):
            return self._replace(value.strip(_WHITE_SPACE))
        if name in _LISTS:
            return _rewrite_srcset(value, self._replace)
        if name == "style":
            return rewrite_css(value, self._replace)
        if (name, tag) == ("content", "meta") and _is_refresh(element):
            return _rewrite_refresh(value, self._replace)
        return None


def _rewrite_srcset(value: str, replace: Replace) -> str:
    """Return a list of images with its links replaced, parsed as the HTML standard says."""
    parts, position = [], 0
    while (candidate := _CANDIDATE.match(value, position)) is not None:
        before, url = candidate.groups()
        link = url.rstrip(",")  # a comma at the end of a URL is not its own
        parts += [before, replace(link) or link, url[len(link) :]]
        position = candidate.end()
        if link == url and (descriptors := _DESCRIPTORS.match(value, position)) is not None:
            parts.append(descriptors[0])
            position = descriptors.end()
    return "".join((*parts, value[position:]))


def _rewrite_refresh(value: str, replace: Replace) -> str:
    match = _REFRESH.match(value)
    new = replace(match[2].strip(_WHITE_SPACE)) if match else None
    return value if match is None or new is None else match[1] + new + value[match.end() :]


def _rewritten(source: str, rewriter: _Rewriter) -> str:
    # A page has many runs of text: to be told of them takes half of the time.
    has_text = _HAS_TEXT.search(source) is not None
    return rewrite(
        source, elements=[(_SELECTOR, rewriter)], text=rewriter.text if has_text else None
    )


def _is_refresh(meta: Element) -> bool:
    return (meta.get("http-equiv") or "").strip(_WHITE_SPACE).lower() == "refresh"


def _set(run: Element, text: str, end: str) -> None:
    """Replace a text, unless it would end its element now."""
    if text != run.text and end not in text.lower():
        run.set_text(text)


class MirrorForm(PageForm):
    """Pages as HTML files with links between them, and other bodies as they are."""

    def __init__(self) -> None:
        self._resolved = ResolvedLinks()

    def extension(self, page: Page) -> str:
        """Return what the name of the page's file ends in."""
        if _is_html(page):
            return _PAGE
        extension = extension_of(page.url, _type(page))
        # It was sent as HTML, and is something else.
        return extension_of(page.url, UNKNOWN_TYPE) if extension == _PAGE else extension

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

    def start(self, first: str) -> tuple[str, bytes]:
        """Return a file at the top that leads to the first page."""
        return START_NAME, _START.format(link=relative_link(START_NAME, first)).encode()


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
