"""The markup of a page as characters, for a parser of HTML.

XHTML that is sent as XML may write any element without content as one tag, `<script src="x"/>`. In
HTML that is a start tag, and everything after it would be the script.
"""

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
_EMPTY: Final = re.compile(
    r"""<([a-zA-Z][^\s/<>"']*+)((?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+)/>"""
)


def decode_markup(body: bytes, label: ContentType) -> Decoded:
    """Return the characters of a page, and in which encoding it was sent."""
    text, encoding = decode(body, label.charset)
    return Decoded(_EMPTY.sub(_as_html, text) if label.essence == XHTML else text, encoding)


def _as_html(tag: re.Match[str]) -> str:
    return tag[0] if tag[1] in _VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"
