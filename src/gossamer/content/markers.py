"""Content markers: comments between which the links of a page are taken.

A page may put `<!-- CONTENT --> … <!-- CONTENT -->` around its content, so that links in its
navigation are ignored.
"""

import re
from bisect import bisect
from typing import Self

import msgspec

from gossamer.model.errors import UsageError
from gossamer.urls import shown

Position = tuple[int, int]
"""Line and column."""

_COMMENT = re.compile(r"\s*<!--(.*?)-->", re.DOTALL)


class Markers(msgspec.Struct, frozen=True):
    """The texts of the comments that open and close a marked part.

    White space does not matter. If both are the same, the comment opens and closes in turn.
    `<!-- /CONTENT -->` and `<!-- END CONTENT -->` also close what `<!-- CONTENT -->` opened.
    """

    start: str
    end: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse markers given as one HTML comment, or as two: the opening and the closing.

        Anything else raises `UsageError`.
        """
        comments = []
        position = 0
        while match := _COMMENT.match(text, position):
            comments.append(_words(match[1]))
            position = match.end()
        if text[position:].strip() or len(comments) not in {1, 2} or "" in comments:
            raise UsageError(
                f"the markers {shown(text)} are not one or two HTML comments; "
                "write for example <!-- CONTENT -->"
            )
        return cls(start=comments[0], end=comments[-1])

    def borders_in(self, text: str) -> list[Position]:
        """Return the positions of the opening and closing comments of a page, in turn.

        The order is that of the source, which the author had in mind: the tree of a malformed page
        may have another one. A part that is never closed ends with the page.
        """
        from turbohtml import TokenType, tokenize  # noqa: PLC0415 -- few crawls have markers

        ends = {self.end, f"/{self.start}", f"END {self.start}"}
        borders: list[Position] = []
        for token in tokenize(text):
            if token.type is TokenType.COMMENT:
                is_open = len(borders) % 2 == 1
                if _words(token.data or "") in (ends if is_open else {self.start}):
                    borders.append((token.line, token.col))
        return borders


def is_between(borders: list[Position], position: Position | None) -> bool:
    """Return whether a position is in a marked part."""
    return position is not None and bisect(borders, position) % 2 == 1


def _words(text: str) -> str:
    return " ".join(text.split())
