"""The journal of a table: its rows as lines of JSON, in the order of the log of results.

It only grows, and is cut at a position. Where it is compressed each piece is a frame of its own,
so that it can be cut between two.
"""

import gzip
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from gossamer.outputs.contract import OutputSpec, PositionLostError

PACKED_LINES_LEVEL = 6


def write_gzip(_: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, compressed with gzip."""
    with path.open("wb") as file:
        with gzip.GzipFile("", "wb", PACKED_LINES_LEVEL, file, mtime=0) as packed:
            packed.writelines(row + b"\n" for row in rows())
        _keep(file.fileno(), file.flush)


def write_zstd(_: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, compressed with Zstandard."""
    with path.open("wb") as file:
        with zstandard.ZstdCompressor(level=PACKED_LINES_LEVEL).stream_writer(
            file, closefd=False
        ) as packed:
            for row in rows():
                packed.write(row + b"\n")
        _keep(file.fileno(), file.flush)


def _keep(descriptor: int, flush: Callable[[], None]) -> None:
    flush()
    os.fsync(descriptor)


_GATHERED_BYTES: Final = 1_000_000


class AppendedFile:
    """One file; what is appended is gathered before it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """With what is not written yet."""
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._descriptor: int | None = None

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
        self.size = size

    def append(self, piece: bytes) -> None:
        """Add bytes at the end."""
        self._gathered.append(piece)
        self._gathered_bytes += len(piece)
        self.size += len(piece)
        if self._gathered_bytes > _GATHERED_BYTES:
            self.write()

    def read(self, offset: int, length: int) -> bytes:
        """Return up to so many bytes of the file."""
        self.write()
        assert self._descriptor is not None
        return os.pread(self._descriptor, length, offset)

    def write(self) -> None:
        """Give the operating system what was gathered."""
        if not self._gathered:
            return
        assert self._descriptor is not None
        rest = memoryview(b"".join(self._gathered))
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._gathered, self._gathered_bytes = [], 0

    def flush(self) -> None:
        """Make it durable."""
        self.write()
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file; what was not flushed may be lost."""
        self._gathered, self._gathered_bytes, self.size = [], 0, 0
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


PIECE_BYTES = 256 * 1024
"""How much is gathered before it is written."""
LEVEL = 1
"""Level 3 takes half as long again, for a journal that is a twentieth smaller."""


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
        self.path = path
        self._pack: Callable[[bytes], bytes] | None = None
        if packed:
            self._pack = zstandard.ZstdCompressor(level=LEVEL).compress
        self._lines: list[bytes] = []
        self._gathered = 0
        self._descriptor: int | None = None
        self._is_durable = False
        self.position = JournalPosition()
        """Where it ends, with the lines that are not written yet."""

    def open(self, position: JournalPosition) -> None:
        """Open it, and cut it at a position; `PositionLostError` if it is shorter."""
        self.close()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o666)
        if os.fstat(self._descriptor).st_size < position.size:
            self.close()
            raise PositionLostError
        os.ftruncate(self._descriptor, position.size)
        os.lseek(self._descriptor, position.size, os.SEEK_SET)
        self.position, self._is_durable = position, False

    def append(self, line: bytes) -> None:
        """Add a row."""
        self._lines += (line, b"\n")
        self._gathered += len(line) + 1
        if self._gathered >= PIECE_BYTES:
            self._write()

    @property
    def offset(self) -> int:
        """Where in the lines the next row begins."""
        return self.position.offset + self._gathered

    def flush(self) -> JournalPosition:
        """Make all rows durable; return where they end."""
        self._write()
        if self._descriptor is not None and not self._is_durable:
            os.fsync(self._descriptor)
            self._is_durable = True
        return self.position

    def close(self) -> None:
        """Close the file; what was not flushed may be lost."""
        self._lines, self._gathered = [], 0
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def overwrite(self, offset: int, piece: bytes) -> None:
        """Put other bytes of the same length into the lines, where they are not compressed."""
        assert self._descriptor is not None
        assert self._pack is None
        self._is_durable = False
        os.pwrite(self._descriptor, piece, offset)

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
        """Write what was gathered; after an error the file is cut at the last position."""
        if not self._gathered:
            return
        assert self._descriptor is not None
        self._is_durable = False
        lines = b"".join(self._lines)
        piece = self._pack(lines) if self._pack else lines
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self.position = JournalPosition(
            size=self.position.size + len(piece),
            offset=self.position.offset + len(lines),
            rows=self.position.rows + len(self._lines) // 2,
        )
        self._lines, self._gathered = [], 0
