"""The CDXJ index of an archive: where each answer is, sorted by URL, for replay tools.

A line is the URL's sort-friendly form (SURT), the time, and an object with the place. While the
archive is written the lines are in the order of the records.
"""

import heapq
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, TypeVar
from urllib.parse import quote, unquote_to_bytes, urlsplit

import msgspec

from gossamer.outputs.contract import PositionLostError
from gossamer.outputs.journal import AppendedFile
from gossamer.outputs.warc_records import Capture

SORTED_LINES: Final = 200_000
"""So many lines are sorted in memory; more are merged from temporary files."""

_WWW: Final = re.compile(r"www\d*\.")
_SLASHES: Final = re.compile(r"//+")
_SESSION: Final = re.compile(r"(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}(?:&|$)")
_STAY: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"


class IndexEntry(msgspec.Struct, frozen=True):
    """Where an answer is; numbers are texts, as other tools have them."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


class IndexLine(msgspec.Struct, frozen=True):
    """A line of the index."""

    time: str
    """The date and time as 14 digits."""
    entry: IndexEntry

    def encode(self) -> bytes:
        """Return it as text."""
        return b"%b %b %b\n" % (
            surt(self.entry.url).encode(),
            self.time.encode(),
            msgspec.json.encode(self.entry),
        )


_decode_entry = msgspec.json.Decoder(IndexEntry).decode


def read_line(line: bytes) -> IndexLine | None:
    """Return a line; None if it was not written to its end."""
    if not line.endswith(b"\n"):
        return None
    try:
        _, time, entry = line.split(b" ", 2)
        return IndexLine(time.decode(), _decode_entry(entry))
    except (ValueError, msgspec.MsgspecError):
        return None


def surt(url: str) -> str:
    """Return the form of a URL by which it is looked up: `org,example)/path?query`.

    It is the one of the Internet Archive's `surt` library: without scheme, `www.` and session ids,
    in lower case, with sorted parameters.
    """
    parts = urlsplit(url)
    host = _WWW.sub("", parts.hostname or "", count=1)
    place = ",".join(reversed(host.split(".")))
    if parts.port is not None:
        place += f":{parts.port}"
    path = _SLASHES.sub("/", _canonical(parts.path)).rstrip("/") or "/"
    query = _SESSION.sub("", _canonical(parts.query))
    ordered = "&".join(
        "=".join(one) for one in sorted(tuple(one.split("=", 1)) for one in query.split("&"))
    )
    return f"{place}){path}?{ordered}" if ordered else f"{place}){path}"


def write_sorted(lines: Iterable[bytes], file: IO[bytes]) -> None:
    """Write lines in their order, with little memory however many they are."""
    with ExitStack() as stack:
        runs: list[Iterable[bytes]] = []
        batch: list[bytes] = []
        for line in lines:
            batch.append(line)
            if len(batch) == SORTED_LINES:
                runs.append(_stored(sorted(batch), stack))
                batch = []
        file.writelines(heapq.merge(*runs, sorted(batch)))


def _stored(lines: list[bytes], stack: ExitStack) -> Iterable[bytes]:
    file = stack.enter_context(TemporaryFile())  # noqa: SIM115 -- the stack closes it
    file.writelines(lines)
    file.seek(0)
    return file


def _canonical(text: str) -> str:
    """Return a part of a URL with no escapes but those that it needs, in lower case."""
    if "%" not in text:
        return text.lower()  # the normal form of a URL has nothing else to escape
    raw = unquote_to_bytes(text)
    while (again := unquote_to_bytes(raw)) != raw:
        raw = again
    return quote(raw, safe=_STAY).lower()


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
