"""The kind of a body: HTML, text or a file of some kind, by its Content-Type and its first bytes.

This follows the MIME Sniffing standard: text labelled as plain is never treated as HTML, and what
is labelled as a file is never read as a page. Unlike the standard, bytes that are clearly not HTML
are not parsed as HTML, whatever their label, and an HTML page that is labelled as an image, as some
error pages are, is no image.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from gossamer.model.names import ContentKind
from gossamer.policy.content_kinds import BYTES, PAGES, UNLABELLED, kind_of_type


class ContentType(NamedTuple):
    """A parsed Content-Type header."""

    essence: str
    """`type/subtype` in lower case; empty if the header is missing or invalid."""
    charset: str | None = None


_SNIFFED_BYTES = 1445
"""The standard's "resource header": as many bytes as its rules need."""

# The standard's "binary data bytes": what no text in an ASCII-compatible encoding contains.
_BINARY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")

# Formats whose start could be read as text, and others that are worth knowing; the rest is kind by
# its control bytes. The offsets are the MIME Sniffing standard's.
_STARTS = {
    ContentKind.IMAGE: (
        *(b"GIF87a", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"),  # GIF, PNG, JPEG
        *(b"II*\x00", b"MM\x00*", b"\x00\x00\x01\x00", b"8BPS"),  # TIFF, icon, Photoshop
    ),
    ContentKind.AUDIO: (b"ID3\x02", b"ID3\x03", b"ID3\x04", b"OggS\x00", b"MThd\x00", b"fLaC\x00"),
    ContentKind.VIDEO: (b"FLV\x01", b"\x1aE\xdf\xa3"),  # Flash video; Matroska and WebM
    ContentKind.PDF: (b"%PDF-",),
    ContentKind.OFFICE: (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),  # old Office
    ContentKind.ARCHIVE: (
        *(b"PK\x03\x04", b"PK\x05\x06", b"Rar!\x1a\x07", b"7z\xbc\xaf'\x1c"),  # Zip, RAR, 7-Zip
        *(b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"(\xb5/\xfd"),  # gzip, …, Zstandard
    ),
    ContentKind.FONT: (b"wOFF", b"wOF2", b"OTTO\x00", b"\x00\x01\x00\x00"),  # the last: TrueType
    ContentKind.OTHER: (
        b"%!PS-Adobe-",
        *(b"\x7fELF", b"\xca\xfe\xba\xbe", b"\x00asm"),  # programs: ELF, Java, WebAssembly
        b"SQLite format 3\x00",
    ),
}
_ANY_START = tuple(start for starts in _STARTS.values() for start in starts)
_INSIDE = {
    ContentKind.IMAGE: re.compile(rb"....ftyp(?:avi|hei|mif)|RIFF....WEBP", re.DOTALL),
    ContentKind.AUDIO: re.compile(rb"....ftypM4A|RIFF....WAVE|FORM....AIFF", re.DOTALL),
    ContentKind.VIDEO: re.compile(rb"....ftyp|RIFF....AVI ", re.DOTALL),
}
_ANY_INSIDE = re.compile(
    rb"....ftyp | RIFF....(?:WEBP|WAVE|AVI[ ]) | FORM....AIFF", re.VERBOSE | re.DOTALL
)

_NEVER_MARKUP = frozenset(
    {
        *(ContentKind.IMAGE, ContentKind.AUDIO, ContentKind.VIDEO, ContentKind.FONT),
        *(ContentKind.PDF, ContentKind.ARCHIVE, ContentKind.JSON, ContentKind.CSV),
    }
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


@lru_cache(256)
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


def kind_of(
    content_type: ContentType, body: bytes, accepted: frozenset[ContentKind] = PAGES
) -> ContentKind:
    """Return the kind of a body with this Content-Type; `accepted` is what the crawl accepts."""
    head = body[:_SNIFFED_BYTES]
    if content_type.essence in UNLABELLED:
        is_html = _looks_like_html(head)
        return ContentKind.HTML if is_html else _text_or_format(ContentType(""), head)
    if content_type.essence in BYTES:
        return _format_of(head) or ContentKind.OTHER
    kind = kind_of_type(content_type.essence, accepted)
    if kind is ContentKind.HTML:
        return _html_or_format(content_type, head)
    if kind is ContentKind.TEXT:
        return _text_or_format(content_type, head)
    if kind in _NEVER_MARKUP and _HTML_START.match(head):
        # An SVG may begin with a comment, as HTML may.
        is_svg = kind is ContentKind.IMAGE and b"<svg" in head
        return kind if is_svg else ContentKind.OTHER
    return kind


def _html_or_format(content_type: ContentType, head: bytes) -> ContentKind:
    """Return HTML, unless bytes labelled so have another format after all.

    A stray NUL occurs in real pages; with more than one in ten bytes it is not a page.
    """
    if (kind := _format_of(head)) is not None:
        return kind
    is_page = _is_wide_text(content_type, head) or head.count(0) * 10 <= len(head)
    return ContentKind.HTML if is_page else ContentKind.OTHER


def _text_or_format(content_type: ContentType, head: bytes) -> ContentKind:
    if (kind := _format_of(head)) is not None:
        return kind
    is_text = _is_wide_text(content_type, head) or not _BINARY_BYTE.search(head)
    return ContentKind.TEXT if is_text else ContentKind.OTHER


def _is_wide_text(content_type: ContentType, head: bytes) -> bool:
    """Return whether control bytes may be halves of letters: a mark or the label says UTF-16."""
    charset = (content_type.charset or "").lower()
    return head.startswith(_TEXT_MARKS) or charset.startswith("utf-16")


def _format_of(head: bytes) -> ContentKind | None:
    """Return what begins like this: an image, an archive or the like; None if it is unknown."""
    if head.startswith(_ANY_START):
        return next(kind for kind, starts in _STARTS.items() if head.startswith(starts))
    if _ANY_INSIDE.match(head):
        return next(kind for kind, inside in _INSIDE.items() if inside.match(head))
    return None


def _looks_like_html(head: bytes) -> bool:
    """Return whether these are the first bytes of an HTML page, or of one in XML."""
    if _XML_START.match(head):
        return _XHTML_ROOT.search(head) is not None
    return _HTML_START.match(head) is not None
