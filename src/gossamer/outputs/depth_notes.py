"""The depths that the rows of a table show, so that it can be put right at the end.

A shorter path to a page may be found after its row was written. Beside the journal there is an
entry of fixed size for each row, so that both are cut at the same row.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.outputs.contract import PositionLostError

ENTRY = struct.Struct("<qqi")


class ChangedDepth(msgspec.Struct, frozen=True, gc=False):
    """A row whose depth is not the one that it shows."""

    row: int
    offset: int
    """Where in the lines its depth stands."""
    shown: int
    depth: int


class DepthNotes:
    """The entries of one table."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gathered = bytearray()

    def open(self, rows: int) -> None:
        """Cut it after so many rows; `PositionLostError` if it has fewer."""
        self._gathered.clear()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if os.fstat(descriptor).st_size < rows * ENTRY.size:
                raise PositionLostError
            os.ftruncate(descriptor, rows * ENTRY.size)
        finally:
            os.close(descriptor)

    def append(self, page_id: int, offset: int, depth: int) -> None:
        """Note the depth of a row, and where it stands."""
        self._gathered += ENTRY.pack(page_id, offset, depth)

    def flush(self) -> None:
        """Make the entries durable."""
        if self._gathered:
            with self._path.open("ab") as file:
                file.write(self._gathered)
                file.flush()
                os.fsync(file.fileno())
            self._gathered.clear()

    def changed(self, depths: Sequence[int]) -> Iterator[ChangedDepth]:
        """Yield the rows whose pages have come nearer since; `depths` goes by page numbers."""
        with self._path.open("rb") as file:
            row = 0
            while piece := file.read(ENTRY.size * 4096):
                for page_id, offset, shown in ENTRY.iter_unpack(piece):
                    if page_id < len(depths) and 0 <= depths[page_id] < shown:
                        yield ChangedDepth(row, offset, shown, depths[page_id])
                    row += 1
