"""The reference that a store keeps in place of the content of a page: where in which segment it is.

Neither needs a column of its own: a packed content is an array of msgpack, and a reference begins
with a byte that msgpack never uses.
"""

from typing import Final, Self

import msgspec

from gossamer.codings import CodingError

MARK: Final = b"\xc1"


class BodyReference(msgspec.Struct, frozen=True, array_like=True):
    """Where the content of a page is."""

    segment: str
    offset: int
    """Where its record begins."""
    length: int
    """How long the content is, packed."""
    checksum: int
    """Of the content, packed: xxh3, 64 bits."""

    def pack(self) -> bytes:
        """Return the reference as it is stored."""
        return MARK + _encode(self)

    @classmethod
    def unpack(cls, stored: bytes) -> Self | None:
        """Return the reference that is stored; None: it is the content itself; CodingError."""
        if not stored.startswith(MARK):
            return None
        try:
            return msgspec.msgpack.decode(stored[len(MARK) :], type=cls)
        except msgspec.MsgspecError as error:
            raise CodingError(f"it is no reference to a body: {error}") from error


_encode = msgspec.msgpack.Encoder().encode
