"""A file that only grows, and is cut at a size that it had."""

import os
from pathlib import Path
from typing import Final

from gossamer.outputs.contract import PositionLostError

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
