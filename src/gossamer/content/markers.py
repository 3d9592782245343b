"""The part of a page that counts: links are taken only between two comments.

A page about cats may say `<!-- CONTENT --> … <!-- CONTENT -->` around what is about cats, and its
navigation is nobody's business.
"""

import re
from bisect import bisect
from typing import Self

import msgspec

from gossamer.errors import UsageError
from gossamer.urls import shown

Position = tuple[int, int]
"""Line and column."""

_COMMENT = re.compile(r"\s*<!--(.*?)-->", re.DOTALL)


class Markers(msgspec.Struct, frozen=True):
    """The texts of the comments that open and close a part that counts.

    They are compared without regard to white space. Where both are the same, the comment opens and
    closes in turn. `<!-- /CONTENT -->` and `<!-- END CONTENT -->` close what `<!-- CONTENT -->`
    opened, too.
    """

    start: str
    end: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the markers written as one HTML comment, or as two: the opening and the closing.

        Anything else raises `UsageError`.
        """
        comments = []
        position = 0
        while found := _COMMENT.match(text, position):
            comments.append(_words(found[1]))
            position = found.end()
        if text[position:].strip() or len(comments) not in {1, 2} or "" in comments:
            raise UsageError(
                f"the markers {shown(text)} are not one or two HTML comments; "
                "write for example <!-- CONTENT -->"
            )
        return cls(start=comments[0], end=comments[-1])

    def parts_of(self, text: str) -> "MarkedParts":
        """Return where in a page the marked parts are."""
        from turbohtml import TokenType, tokenize  # noqa: PLC0415 -- as in `parse`

        borders: list[Position] = []
        for token in tokenize(text):
            if token.type is TokenType.COMMENT:
                is_open = len(borders) % 2 == 1
                if self._ends(token.data) if is_open else self._starts(token.data):
                    borders.append((token.line, token.col))
        return MarkedParts(tuple(borders))

    def _starts(self, comment: str | None) -> bool:
        return _words(comment) == self.start

    def _ends(self, comment: str | None) -> bool:
        return _words(comment) in {self.end, f"/{self.start}", f"END {self.start}"}


class MarkedParts(msgspec.Struct, frozen=True):
    """The parts of a page's source between markers.

    By the order of the source: the tree of a malformed page may have another, and its author
    thought of the source when he put the markers there. A part that is never closed ends with the
    page.
    """

    borders: tuple[Position, ...]
    """The positions of the opening and closing comments in turn."""

    def __bool__(self) -> bool:
        return bool(self.borders)

    def __contains__(self, position: Position | None) -> bool:
        return position is not None and bisect(self.borders, position) % 2 == 1


def _words(text: str | None) -> str:
    return " ".join((text or "").split())
