"""The links in HTML and CSS, replaced without building a tree.

The rewriter copies what it is not told to change as it is, and takes no more memory than the page,
whatever the page is. Links in comments, scripts and templates are treated as what they look like.
"""

import re
from collections.abc import Callable
from typing import Final

from turbohtml.rewrite import Element, rewrite

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
        quoted = _UNSAFE_IN_CSS.sub(lambda one: f"%{ord(one[0]):02X}", new)
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
    found = _REFRESH.match(value)
    new = replace(found[2].strip(_WHITE_SPACE)) if found else None
    return value if found is None or new is None else found[1] + new + value[found.end() :]


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
