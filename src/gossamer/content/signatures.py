"""The signatures of formats: the first bytes by which they are recognised."""

import re

# Formats whose start could be read as text; the others are found by their control bytes.
# The offsets are the MIME Sniffing standard's.
_BINARY_STARTS = (
    b"%!PS-Adobe-",
    b"%PDF-",
    b"(\xb5/\xfd",  # Zstandard
    b"7z\xbc\xaf'\x1c",
    b"8BPS",  # Photoshop
    b"\x00\x00\x01\x00",  # icon
    b"\x00\x01\x00\x00",  # TrueType
    b"\x00asm",  # WebAssembly
    b"\x1aE\xdf\xa3",  # Matroska, WebM
    b"\x1f\x8b\x08",  # gzip
    b"\x7fELF",
    b"\x89PNG\r\n\x1a\n",
    b"\xca\xfe\xba\xbe",  # Java class
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",  # old Office
    b"\xfd7zXZ\x00",
    b"\xff\xd8\xff",  # JPEG
    b"BZh91AY&SY",
    b"FLV\x01",
    b"GIF87a",
    b"GIF89a",
    b"ID3\x02",
    b"ID3\x03",
    b"ID3\x04",
    b"II*\x00",  # TIFF
    b"MM\x00*",  # TIFF
    b"MThd\x00",
    b"OTTO\x00",
    b"OggS\x00",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"Rar!\x1a\x07",
    b"SQLite format 3\x00",
    b"wOF2",
    b"wOFF",
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


def is_binary_format(head: bytes) -> bool:
    """Return whether these are the first bytes of an image, an archive or the like."""
    return head.startswith(_BINARY_STARTS) or _BINARY_INSIDE.match(head) is not None


def looks_like_html(head: bytes) -> bool:
    """Return whether these are the first bytes of an HTML page, or of one in XML."""
    if _XML_START.match(head):
        return _XHTML_ROOT.search(head) is not None
    return _HTML_START.match(head) is not None
