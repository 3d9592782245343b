"""The results of a crawl: one log, in the order of settlement, from which outputs are written.

A result is appended in the same atomic step that settles a page, or a URL of which a module has
extracted records. So what is in the log was settled, and is there once.
"""

from collections.abc import Sequence

import msgspec


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that a module has extracted."""

    source: str
    """The module, as the user named it."""
    data: bytes
    """A JSON object."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a task, for outputs."""

    number: int
    """Grows in the order of settlement; numbers may be missing."""
    url_id: int
    page_id: int | None
    """The page that was kept; None: none was, but there are records."""
    settled_at: float
    """With the URL it tells this result from another that had its number before a server lost what
    it had written last."""
    records: tuple[Record, ...] | None = None
    """None: no module gave any; empty: what modules gave was refused."""
    row: bytes | None = None
    """What outputs want of the page, such as its row in a table, made while the page was at hand.
    It is dropped when the outputs of the crawl have it, and can be made again from the page."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Record, ...]).decode


def pack_records(records: Sequence[Record] | None) -> bytes:
    """Return records as stores keep them: None takes no room."""
    return b"" if records is None else _encode(records)


def unpack_records(packed: bytes | None) -> tuple[Record, ...] | None:
    """Return records that a store has kept; None if no module gave any."""
    return _decode(packed) if packed else None
