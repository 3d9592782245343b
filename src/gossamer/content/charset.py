"""The decoding of bodies to text, as browsers do it.

The order of the sources is the HTML standard's (section 13.2.3): a byte order mark, the charset of
the Content-Type header, a declaration in the first 1,024 bytes, and finally a guess from the bytes.
Labels mean what the Encoding Standard defines: on the web "iso-8859-1" is windows-1252, UTF-7 is
unknown, and a page that declares UTF-16 in ASCII is not UTF-16.
"""

import re
from typing import NamedTuple

import turbohtml

# Importing this module also registers the `whatwg-*` codecs.
from turbohtml.detect import detect

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))

_FALLBACK = "windows-1252"
"""The standard's default encoding."""

_PRESCANNED_BYTES = 1024
_NOT_ASCII = bytes(range(0x80, 0x100))

GUESSED_BYTES = 250_000
"""A guess is made from this many bytes, in 40 ms at most; all threads wait for it."""
_BETWEEN_CHARACTERS = (b"\n", b" ", b">")
"""Bytes that are no part of a longer character in any encoding, but UTF-16."""
_LONGEST_CHARACTER = 4
"""In UTF-8."""

_XML_DECLARATION = re.compile(rb"<\?xml\s[^>]{0,200}?\sencoding\s*=\s*[\"']([!-~]{1,64}?)[\"']")


class Decoded(NamedTuple):
    """A body as text."""

    text: str
    encoding: str
    """The encoding's name in the Encoding Standard, in lower case."""


def decode(body: bytes, http_charset: str | None = None) -> Decoded:
    """Return the text of a body; malformed bytes become U+FFFD."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return Decoded(_decoded(body[len(mark) :], encoding), encoding)
    encoding = _encoding_of(http_charset) or _declared_or_guessed(body)
    return Decoded(_decoded(body, encoding), encoding)


def _encoding_of(label: str | None) -> str | None:
    """Return the encoding with this label in the Encoding Standard, if there is one."""
    if label is None or not label.isascii():
        return None
    try:
        name = turbohtml.parse(b"", encoding=label).encoding
    except LookupError:
        return None
    return name.lower() if name else None


def _declared_or_guessed(body: bytes) -> str:
    declaration = _XML_DECLARATION.match(body)
    if declaration and not _has_meta_charset(body):
        encoding = _encoding_of(declaration[1].decode("ascii"))
        if encoding is not None:
            return "utf-8" if encoding.startswith("utf-16") else encoding
    encoding = detect(_guessed_part(body)).encoding
    return encoding.lower() if encoding else _FALLBACK


def _guessed_part(body: bytes) -> bytes:
    """Return what the encoding of a body is guessed from: its head, and what is not ASCII."""
    if len(body) <= GUESSED_BYTES:
        return body
    for start in range(0, len(body), GUESSED_BYTES):
        piece = body[start : start + GUESSED_BYTES]
        if not piece.isascii():
            head = body[: min(start, _PRESCANNED_BYTES)]  # which is ASCII, but may declare more
            return head + _without_half_character(piece)
    return body[:GUESSED_BYTES]


def _without_half_character(piece: bytes) -> bytes:
    """Return a piece that does not end within a character, for half of one would mislead."""
    end = max(piece.rfind(sign) for sign in _BETWEEN_CHARACTERS)
    if end > len(piece) // 2:
        return piece[:end]
    for end in range(len(piece) - 1, max(len(piece) - 1 - _LONGEST_CHARACTER, 0), -1):
        if piece[end] & 0xC0 != 0x80:  # in UTF-8, it is the first byte of one
            return piece[:end]
    return piece


def _has_meta_charset(body: bytes) -> bool:
    """Return whether a meta element names the encoding, which overrides the XML declaration.

    Without one, pure ASCII is detected as windows-1252, and with one letter of UTF-8 as UTF-8.
    """
    head = body[:_PRESCANNED_BYTES].translate(None, delete=_NOT_ASCII)
    return detect(head).encoding == detect(head + "é".encode()).encoding


def _decoded(body: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return body.decode("utf-8", "replace")
    return body.decode(f"whatwg-{encoding}", "replace")
