"""The kind of a body: HTML, text or binary, by its Content-Type and its first bytes.

This follows the MIME Sniffing standard: text labelled as plain is never treated as HTML. Unlike
the standard, bytes that are clearly not HTML are not parsed as HTML, whatever their label.
"""

import re
from enum import StrEnum
from typing import NamedTuple


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

# Formats whose start could be read as text; the others are found by their control bytes.
# The offsets are the MIME Sniffing standard's.
_BINARY_STARTS = (
    *(b"GIF87a", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"),  # GIF, PNG, JPEG
    *(b"II*\x00", b"MM\x00*", b"\x00\x00\x01\x00", b"8BPS"),  # TIFF, icon, Photoshop
    *(b"ID3\x02", b"ID3\x03", b"ID3\x04", b"OggS\x00", b"MThd\x00"),  # MP3, Ogg, MIDI
    *(b"FLV\x01", b"\x1aE\xdf\xa3"),  # Flash video; Matroska and WebM
    *(b"%PDF-", b"%!PS-Adobe-", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),  # the last: old Office
    *(b"PK\x03\x04", b"PK\x05\x06", b"Rar!\x1a\x07", b"7z\xbc\xaf'\x1c"),  # Zip, RAR, 7-Zip
    *(b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"(\xb5/\xfd"),  # gzip, …, Zstandard
    *(b"wOFF", b"wOF2", b"OTTO\x00", b"\x00\x01\x00\x00"),  # fonts, the last: TrueType
    *(b"\x7fELF", b"\xca\xfe\xba\xbe", b"\x00asm"),  # programs: ELF, Java, WebAssembly
    b"SQLite format 3\x00",
)
_BINARY_INSIDE = re.compile(
    rb"....ftyp | RIFF....(?:WEBP|WAVE|AVI[ ]) | FORM....AIFF", re.VERBOSE | re.DOTALL
)

# MIME Sniffing, section 7.1, step 1. The last part of each is a "tag-terminating byte".
_HTML_START = re.compile(
    rb"""(?:\xef\xbb\xbf)? [\t\n\f\r ]*
    (?: <!--
      | < (?: !DOCTYPE[ ]HTML | HTML | HEAD | SCRIPT | IFRAME | H1 | DIV | FONT | TABLE | A | STYLE
            | TITLE | B | BODY | BR | P ) [ >]
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<\?xml\s")
_XHTML_ROOT = re.compile(rb"<html[\s>]")

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
        if _looks_like_html(head):
            return ContentKind.HTML
        return _text_or_binary(ContentType(""), head)
    if content_type.essence.startswith("text/"):
        return _text_or_binary(content_type, head)
    return ContentKind.BINARY


def _is_not_html(content_type: ContentType, head: bytes) -> bool:
    """Return whether bytes labelled as HTML have another format after all.

    A stray NUL occurs in real pages; with more than one in ten bytes it is not a page.
    """
    if _is_binary_format(head):
        return True
    return not _is_wide_text(content_type, head) and head.count(0) * 10 > len(head)


def _text_or_binary(content_type: ContentType, head: bytes) -> ContentKind:
    if _is_binary_format(head):
        return ContentKind.BINARY
    if _is_wide_text(content_type, head) or not _BINARY_BYTE.search(head):
        return ContentKind.TEXT
    return ContentKind.BINARY


def _is_wide_text(content_type: ContentType, head: bytes) -> bool:
    """Return whether control bytes may be halves of letters: a mark or the label says UTF-16."""
    charset = (content_type.charset or "").lower()
    return head.startswith(_TEXT_MARKS) or charset.startswith("utf-16")


def _is_binary_format(head: bytes) -> bool:
    """Return whether these are the first bytes of an image, an archive or the like."""
    return head.startswith(_BINARY_STARTS) or _BINARY_INSIDE.match(head) is not None


def _looks_like_html(head: bytes) -> bool:
    """Return whether these are the first bytes of an HTML page, or of one in XML."""
    if _XML_START.match(head):
        return _XHTML_ROOT.search(head) is not None
    return _HTML_START.match(head) is not None
