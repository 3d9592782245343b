"""The markup of a page as characters, for a parser of HTML.

XHTML that is sent as XML may write any element without content as one tag, `<script src="x"/>`. In
HTML that is a start tag, and everything after it would be the script. It may also hold text as
CDATA, which is a comment in HTML; in scripts and style sheets both know it.
"""

import html
import re
from typing import Final

from gossamer.content.charset import Decoded, decode
from gossamer.content.kind import ContentType

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


def decode_markup(body: bytes, label: ContentType) -> Decoded:
    """Return the characters of a page, and in which encoding it was sent."""
    text, encoding = decode(body, label.charset)
    return Decoded(_OF_XML.sub(_as_html, text) if label.essence == XHTML else text, encoding)


def _as_html(found: re.Match[str]) -> str:
    if found["text"] is not None:
        return html.escape(found["text"], quote=False)
    name = found["empty"]
    is_same = name is None or name in _VOID
    return found[0] if is_same else f"<{name}{found['attributes']}></{name}>"
