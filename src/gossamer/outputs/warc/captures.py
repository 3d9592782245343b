"""The journal of captures: the lines of the index in the order of the archive's records.

It is beside the crawl while the archive may be continued, and is cut at a position like the archive
itself. From it, too, is known which bodies the archive has already.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

from gossamer.outputs.contract import PositionLostError
from gossamer.outputs.warc.cdxj import IndexLine, read_line
from gossamer.outputs.warc.records import Capture
from gossamer.outputs.written_file import AppendedFile

T = TypeVar("T")

REVISIT: Final = "warc/revisit"
"""The type of a record that has no body."""

KNOWN_BODIES: Final = 200_000
"""So many bodies are remembered, about 40 MB. An older one that comes again is stored again."""

_LONGEST_LINE: Final = 100_000


class Captures:
    """The journal of one archive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AppendedFile(path)
        self._offsets: dict[str, int] = {}
        """Where the line of a body is, by its digest; the oldest first."""
        self._revisits: dict[str, str] = {}
        """When a URL was found unchanged last."""

    @property
    def size(self) -> int:
        """The size of the journal."""
        return self._file.size

    def open(self, size: int) -> None:
        """Open it, and cut it at a size; `PositionLostError` if it is smaller."""
        self._file.open(size)
        self._offsets, self._revisits = {}, {}
        offset = 0
        for line in self.lines():
            if (read := read_line(line)) is None:
                raise PositionLostError
            self._remember(read, offset)
            offset += len(line)

    def add(self, line: IndexLine) -> None:
        """Add a capture."""
        self._remember(line, self._file.size)
        self._file.append(line.encode())

    def find(self, digest: str) -> Capture | None:
        """Return where the archive has this body; None if it has not, or has forgotten."""
        offset = self._offsets.get(digest)
        if offset is None:
            return None
        piece = self._file.read(offset, _LONGEST_LINE)
        line = read_line(piece[: piece.find(b"\n") + 1])
        return None if line is None else Capture(line.entry.url, _date(line.time))

    def has_revisit(self, capture: Capture) -> bool:
        """Tell whether the archive has this visit, at which the body was one that it had."""
        return self._revisits.get(capture.url) == capture.date

    def flush(self) -> None:
        """Make it durable."""
        self._file.flush()

    def lines(self) -> Iterator[bytes]:
        """Yield all lines."""
        self._file.write()
        with self.path.open("rb") as file:
            yield from file

    def close(self) -> None:
        """Close it; what was not flushed may be lost."""
        self._file.close()

    def _remember(self, line: IndexLine, offset: int) -> None:
        entry = line.entry
        if entry.mime == REVISIT:
            _put(self._revisits, entry.url, _date(line.time))
        else:
            _put(self._offsets, entry.digest, offset)


def _put(known: dict[str, T], key: str, value: T) -> None:
    """Remember something, and forget the oldest if it is too much."""
    if len(known) >= KNOWN_BODIES:
        del known[next(iter(known))]
    known[key] = value


def _date(time: str) -> str:
    """Return the time of a line as records have it."""
    return f"{time[:4]}-{time[4:6]}-{time[6:8]}T{time[8:10]}:{time[10:12]}:{time[12:]}Z"
