"""Files of outputs that only grow: what was written is never changed, but cut after a crash.

A journal is such a file of lines: the rows of a table, in the order of the log of results. Where it
is compressed each piece is a frame of its own, so that it can be cut between two.
"""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from gossamer.outputs.contract import PositionLostError

PIECE_BYTES: Final = 256 * 1024
"""How much is gathered before it is written."""
LEVEL: Final = 1
"""Level 3 takes half as long again, for a journal that is a twentieth smaller."""


class AppendFile:
    """One file; what is appended is gathered before it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """With what is not written yet."""
        self._gathered: list[bytes] = []
        self._written = 0
        self._descriptor: int | None = None
        self._is_durable = False

    def open(self, size: int) -> None:
        """Open the file, and cut it at a size; `PositionLostError` if it is smaller."""
        self.close()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o666)
        if os.fstat(self._descriptor).st_size < size:
            self.close()
            raise PositionLostError
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)
        self.size = self._written = size

    def append(self, piece: bytes) -> None:
        """Add bytes at the end."""
        self._gathered.append(piece)
        self.size += len(piece)
        if self.size - self._written > PIECE_BYTES:
            self.write()

    def read(self, offset: int, length: int) -> bytes:
        """Return up to so many bytes of the file."""
        self.write()
        return os.pread(self._opened, length, offset)

    def overwrite(self, offset: int, piece: bytes) -> None:
        """Put other bytes of the same length in the place of some."""
        self.write()
        self._is_durable = False
        os.pwrite(self._opened, piece, offset)

    def write(self) -> None:
        """Give the operating system what was gathered; after an error the file is to be cut."""
        if not self._gathered:
            return
        self._is_durable = False
        rest = memoryview(b"".join(self._gathered))
        while rest:
            rest = rest[os.write(self._opened, rest) :]
        self._gathered, self._written = [], self.size

    def flush(self) -> None:
        """Make it durable."""
        self.write()
        if self._descriptor is not None and not self._is_durable:
            os.fsync(self._descriptor)
            self._is_durable = True

    def close(self) -> None:
        """Close the file; what was not flushed may be lost."""
        self._gathered, self.size, self._written, self._is_durable = [], 0, 0, False
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def _opened(self) -> int:
        assert self._descriptor is not None, "it is opened before it is used"
        return self._descriptor


class JournalPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far a journal is."""

    size: int = 0
    """The size of the file."""
    offset: int = 0
    """The size of the lines."""
    rows: int = 0


class Journal:
    """The journal of one table."""

    def __init__(self, path: Path, *, packed: bool) -> None:
        self._file = AppendFile(path)
        self._pack: Callable[[bytes], bytes] | None = None
        if packed:
            self._pack = zstandard.ZstdCompressor(level=LEVEL).compress
        self._lines: list[bytes] = []
        self._gathered = 0
        self.position = JournalPosition()
        """Where it ends, without the lines that are gathered."""

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._file.path

    @property
    def offset(self) -> int:
        """Where in the lines the next row begins."""
        return self.position.offset + self._gathered

    def open(self, position: JournalPosition) -> None:
        """Open it, and cut it at a position; `PositionLostError` if it is shorter."""
        self.close()
        self._file.open(position.size)
        self.position = position

    def append(self, line: bytes) -> None:
        """Add a row."""
        self._lines += (line, b"\n")
        self._gathered += len(line) + 1
        if self._gathered >= PIECE_BYTES:
            self._write()

    def overwrite(self, offset: int, piece: bytes) -> None:
        """Put other bytes of the same length into the lines, where they are not compressed."""
        assert self._pack is None
        self._file.overwrite(offset, piece)

    def flush(self) -> JournalPosition:
        """Make all rows durable; return where they end."""
        self._write()
        self._file.flush()
        return self.position

    def close(self) -> None:
        """Close the file; what was not flushed may be lost."""
        self._lines, self._gathered = [], 0
        self._file.close()

    def lines(self) -> Iterator[bytes]:
        """Yield all rows; they are flushed."""
        with self.path.open("rb") as file:
            if self._pack is None:
                yield from (line[:-1] for line in file)
                return
            unpacked = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            # A reader of lines: the one of zstandard has none.
            yield from (line[:-1] for line in io.BufferedReader(unpacked, PIECE_BYTES))

    def _write(self) -> None:
        if not self._gathered:
            return
        lines = b"".join(self._lines)
        self._file.append(self._pack(lines) if self._pack else lines)
        self.position = JournalPosition(
            size=self._file.size,
            offset=self.offset,
            rows=self.position.rows + len(self._lines) // 2,
        )
        self._lines, self._gathered = [], 0
