"""The kind of a body: HTML, text or binary, by its Content-Type and its first bytes.

This follows the MIME Sniffing standard: text labelled as plain is never treated as HTML. Unlike
the standard, bytes that are clearly not HTML are not parsed as HTML, whatever their label.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from gossamer.content.signatures import is_binary_format, looks_like_html


class ContentKind(StrEnum):
    """The kind of a body."""

    HTML = "html"
    TEXT = "text"
    BINARY = "binary"
    """Everything else: no text and no links."""


class ContentType(NamedTuple):
    """A parsed Content-Type header."""

    essence: str
    """`type/subtype` in lower case; empty if the header is missing or invalid."""
    charset: str | None = None


_SNIFFED_BYTES = 1445
"""The standard's "resource header": as many bytes as its rules need."""

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_UNKNOWN_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})

# The standard's "binary data bytes": what no text in an ASCII-compatible encoding contains.
_BINARY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")

_ESSENCE = re.compile(r"[\t\n\r ]*([^\s;,/\"]+/[^\s;,/\"]+)")
_PARAMETER = re.compile(
    r""";[\t\n\r ]* ([^=;\s]+) [\t\n\r ]*=[\t\n\r ]*
        (?: "( (?: [^"\\] | \\. )* )"? | ([^;]*) )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_content_type(value: str | None) -> ContentType:
    """Parse the value of a Content-Type header, however malformed."""
    essence = _ESSENCE.match(value) if value else None
    if value is None or essence is None:
        return ContentType("")
    for name, quoted, plain in _PARAMETER.findall(value, essence.end()):
        if name.lower() == "charset":
            charset = _ESCAPED.sub(r"\1", quoted) or plain.strip().strip("'")
            return ContentType(essence[1].lower(), charset or None)
    return ContentType(essence[1].lower())


def kind_of(content_type: ContentType, body: bytes) -> ContentKind:
    """Return the kind of a body with this Content-Type."""
    head = body[:_SNIFFED_BYTES]
    if content_type.essence in _HTML_TYPES:
        return ContentKind.BINARY if _is_not_html(content_type, head) else ContentKind.HTML
    if content_type.essence in _UNKNOWN_TYPES:
        return _sniffed(head)
    if content_type.essence.startswith("text/"):
        return _text_or_binary(content_type, head)
    return ContentKind.BINARY


def _is_not_html(content_type: ContentType, head: bytes) -> bool:
    """Return whether bytes labelled as HTML have another format after all.

    A stray NUL occurs in real pages; with more than one in ten bytes it is not a page.
    """
    if is_binary_format(head):
        return True
    return not _is_wide_text(content_type, head) and head.count(0) * 10 > len(head)


def _sniffed(head: bytes) -> ContentKind:
    if looks_like_html(head):
        return ContentKind.HTML
    return _text_or_binary(ContentType(""), head)


def _text_or_binary(content_type: ContentType, head: bytes) -> ContentKind:
    if is_binary_format(head):
        return ContentKind.BINARY
    if _is_wide_text(content_type, head) or not _BINARY_BYTE.search(head):
        return ContentKind.TEXT
    return ContentKind.BINARY


def _is_wide_text(content_type: ContentType, head: bytes) -> bool:
    """Return whether control bytes may be halves of letters: a mark or the label says UTF-16."""
    charset = (content_type.charset or "").lower()
    return head.startswith(_TEXT_MARKS) or charset.startswith("utf-16")
