"""What a result carries of its page: what was at hand when the page was parsed for the crawl.

It saves whoever writes outputs from parsing the page again. It may not be there, or be for other
outputs than those that are written now; then everything is read from the page as it is kept.
"""

import msgspec

from gossamer.modules.kept_pages import Reading
from gossamer.stores.results import Result


class Carried(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a result carries of its page."""

    fields: tuple[str, ...] = ()
    """Those of the row."""
    row: bytes = b""
    """The row of the page in a table; empty if no table is wished for."""
    reading: Reading | None = None
    """For outputs that are no tables."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Carried).decode


def pack_carried(carried: Carried) -> bytes:
    """Return it as it travels in `Settlement.row`."""
    return _encode(carried)


def carried_by(result: Result) -> Carried:
    """Return what a result carries; nothing if it was dropped."""
    return Carried() if result.row is None else _decode(result.row)
