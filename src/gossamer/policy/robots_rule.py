"""One rule of a robots.txt: how its path is parsed, and which URLs it matches.

Both sides are compared as octets after percent-decoding (RFC 9309, section 2.2.2), so a character
and its escape are equal wherever they mean the same. There are two exceptions, because RFC 3986
distinguishes them: in a path an escaped slash or question mark is data, not a delimiter, and an
escaped percent sign stays as it is, or "%252F" would become "%2F".
"""

import re

import msgspec

from gossamer.model import Url
from gossamer.urls import shown

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_STARS = re.compile(rb"\*+")
_KEPT_IN_PATH = frozenset(b"/?%")
_KEPT_IN_QUERY = frozenset(b"%")

_SHOWN_CHARS = 200
"""A rule may be as long as the file: this much of it is shown to people."""


class RobotsRule(msgspec.Struct, frozen=True, gc=False):
    """An Allow or Disallow line with a path."""

    allows: bool
    written: bytes
    """The path as written in the file."""
    line: int
    """The number of its line, from 1."""
    pieces: tuple[bytes, ...]
    """The parts between the wildcards, unescaped: a single one is a plain prefix."""
    anchored: bool
    """Whether the path ends with a dollar: the match must reach the end of the URL."""
    octets: int
    """The length that decides between rules."""

    @property
    def is_prefix(self) -> bool:
        """Whether the rule matches exactly the URLs that start with its one piece."""
        return len(self.pieces) == 1 and not self.anchored

    def matches(self, target: bytes) -> bool:
        """Return whether the rule matches this target (see `rule_targets`).

        Every piece is matched where it first fits: that leaves most for the later pieces, so no
        other choice needs trying, and wildcards cannot multiply the work.
        """
        pieces = self.pieces
        if not target.startswith(pieces[0]):
            return False
        position = len(pieces[0])
        if len(pieces) == 1:
            return not self.anchored or position == len(target)
        for piece in pieces[1:-1]:
            found = target.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        if self.anchored:
            return target.endswith(pieces[-1], position)
        return target.find(pieces[-1], position) >= 0

    def __str__(self) -> str:
        path = shown(self.written.decode("utf-8", "replace"), _SHOWN_CHARS)[1:-1]
        return f"{'Allow' if self.allows else 'Disallow'}: {path} (line {self.line})"


def read_rule(allows: bool, written: bytes, line: int) -> RobotsRule | None:
    """Return the rule of an Allow or Disallow line; None if its path can match nothing.

    By the standard an empty path is not a rule, nor is one that starts with neither a slash nor a
    wildcard.
    """
    if not written.startswith((b"/", b"*")):
        return None
    anchored = written.endswith(b"$")
    pieces = []
    in_query = False
    for piece in _STARS.split(written[:-1] if anchored else written):
        if in_query:
            pieces.append(_unescape(piece, _KEPT_IN_QUERY))
        else:
            pieces.append(_unescape_both(piece))
            in_query = b"?" in piece
    octets = written.count(b"*") + anchored + sum(map(_encoded_length, pieces))
    return RobotsRule(allows, written, line, tuple(pieces), anchored, octets)


def rule_targets(url: Url) -> tuple[bytes, ...]:
    """Return the path and query of a URL in the forms that rules are matched against.

    Mostly one. A query with an escaped slash or question mark has two: unescaped, because there
    both are plain data, and as written, for rules that contain the escape but whose question mark
    is covered by a wildcard ("/*url=%2F").
    """
    start = url.find("/", url.find("//") + 2)
    text = url[start:].encode("utf-8", "replace") if start >= 0 else b"/"
    if b"%" not in text:
        return (text,)
    unescaped, as_written = _unescape_both(text), _unescape(text, _KEPT_IN_PATH)
    return (unescaped,) if unescaped == as_written else (unescaped, as_written)


def _unescape_both(text: bytes) -> bytes:
    path, mark, query = text.partition(b"?")
    return _unescape(path, _KEPT_IN_PATH) + mark + _unescape(query, _KEPT_IN_QUERY)


def _unescape(text: bytes, kept: frozenset[int]) -> bytes:
    if b"%" not in text:
        return text

    def undo(escape: re.Match[bytes]) -> bytes:
        octet = int(escape[1], 16)
        return escape[0].upper() if octet in kept else bytes((octet,))

    return _ESCAPE.sub(undo, text)


def _encoded_length(piece: bytes) -> int:
    """Count octets as the standard does: each that is not ASCII is three, percent-encoded."""
    return len(piece) if piece.isascii() else len(piece) + 2 * sum(octet > 0x7F for octet in piece)
