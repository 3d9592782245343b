"""The reader of sitemaps: sitemaps.org files and indexes, RSS, Atom and plain text, gzipped or not.

The file is untrusted. It is read piece by piece, so the caller can do other things in between, and
never more than the standard allows of it. XML is read by expat, which keeps no tree; a document
type declaration ends the reading, so there are no entities. What comes before a mistake counts.
"""

import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from xml.parsers import expat

import msgspec

from gossamer.model import Url
from gossamer.policy.size_limits import MAX_SITEMAP_BYTES
from gossamer.urls import resolve

MAX_ENTRIES: Final = 50_000
"""How many URLs of a sitemap are read: as many as it may have (sitemaps.org)."""
PIECE_BYTES: Final = 64 * 1024
MAX_NESTING = 20
MAX_FIELD_LENGTH = 8192

_GZIP = b"\x1f\x8b"
_GZIP_BITS = 31
_BEGINS_LIKE_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\0\s]*<")
_BLANK_BEGINNING = re.compile(rb"\A(?:\xef\xbb\xbf)?\s+(?=<)")
"""Blank lines before the XML declaration, as plugins write them: no parser of XML forgives it."""
_BEGINS_LIKE_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]*>\s*|<!--.{0,9999}?-->\s*)?<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_ENTRIES = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "rdf": "item"} | {
    "feed": "entry"
}
"""What the entries are called, by the name of the root element."""
_FIELDS = frozenset({"loc", "lastmod", "priority", "link", "pubdate", "updated", "date"})
_PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d\d))?\Z")


class SitemapEntry(msgspec.Struct, frozen=True):
    """A URL that a sitemap lists."""

    url: Url
    lastmod: float | None = None
    """When it was changed last, in seconds since the epoch."""
    priority: float | None = None
    """0 to 1."""


class Sitemap:
    """One sitemap, read by `pieces`; `base` is its URL."""

    def __init__(self, body: bytes, base: Url) -> None:
        self._body = body
        self._base = base
        self._count = 0
        self.is_index = False
        """Whether what it lists are other sitemaps; known with the first entry."""
        self.trouble = ""
        """Why not all of it was read, as a part of a sentence; empty: all was."""

    def note(self, trouble: str) -> None:
        """Note why not all of it was read, unless that follows from something else."""
        self.trouble = self.trouble or trouble

    def pieces(self) -> Iterator[list[SitemapEntry]]:
        """Yield the entries of one piece after another; most lists are short, many are empty."""
        read = None
        for piece in self._decompressed():
            if read is None:
                piece = _BLANK_BEGINNING.sub(b"", piece)  # noqa: PLW2901
                read = self._reader(piece)
            if read is None:
                is_html = _BEGINS_LIKE_HTML.match(piece)
                kind = "an HTML page" if is_html else "neither XML nor a list of URLs"
                self.note(f"it is {kind}")
                return
            yield self._counted(read(piece))
            if self.trouble:
                return
        if read is not None:
            yield self._counted(read(b""))

    def _counted(self, entries: list[SitemapEntry]) -> list[SitemapEntry]:
        """Return as many entries as there may be."""
        room = MAX_ENTRIES - self._count
        if len(entries) > room:
            self.note(f"no more than {MAX_ENTRIES:,} URLs are read")
        self._count += min(len(entries), room)
        return entries[:room]

    def _reader(self, first: bytes) -> "_XmlReader | _TextReader | None":
        if _BEGINS_LIKE_XML.match(first):
            return None if _BEGINS_LIKE_HTML.match(first) else _XmlReader(self, self._base)
        lines = first.lstrip(b"\xef\xbb\xbf").split(maxsplit=1)
        is_text = bool(lines) and lines[0].lower().startswith((b"http://", b"https://"))
        return _TextReader(self._base) if is_text else None

    def _decompressed(self) -> Iterator[bytes]:
        left = MAX_SITEMAP_BYTES
        for piece in self._inflated() if self._body.startswith(_GZIP) else self._sliced():
            if left and piece:
                yield piece[:left]
            if len(piece) > left:
                self.note("no more than 50 MiB are read")
                return
            left -= len(piece)

    def _sliced(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), PIECE_BYTES):
            yield self._body[start : start + PIECE_BYTES]

    def _inflated(self) -> Iterator[bytes]:
        """Yield what a gzip file decompresses to; of one that is broken, what comes before that."""
        data = self._body
        try:
            while data.startswith(_GZIP):
                member = zlib.decompressobj(_GZIP_BITS)
                while not member.eof:
                    piece = member.decompress(data, PIECE_BYTES)
                    data = member.unconsumed_tail
                    if piece:
                        yield piece
                    elif not data and not member.eof:
                        self.note("its end is missing")
                        return
                data = member.unused_data
        except zlib.error as error:
            self.note(f"it is not valid gzip ({error})")


class _TextReader:
    """A list of URLs, one a line."""

    def __init__(self, base: Url) -> None:
        self._base = base
        self._rest = b""

    def __call__(self, piece: bytes) -> list[SitemapEntry]:
        """Read a piece; an empty one is the end."""
        *lines, self._rest = (self._rest + piece).splitlines() if piece else (self._rest, b"")
        if piece.endswith((b"\n", b"\r")):
            lines, self._rest = [*lines, self._rest], b""
        self._rest = self._rest[: MAX_FIELD_LENGTH * 2]
        urls = (resolve(line.decode("utf-8-sig", "replace"), self._base) for line in lines if line)
        return [SitemapEntry(url) for url in urls if url is not None]


class _EndOfReading(Exception):  # noqa: N818 -- no error
    """The rest is not worth reading."""


class _XmlReader:
    """An XML sitemap, RSS or Atom."""

    def __init__(self, sitemap: Sitemap, base: Url) -> None:
        self._sitemap = sitemap
        self._base = base
        self._entries: list[SitemapEntry] = []
        self._entry_name = ""
        self._nesting = 0
        self._entry_at = 0
        """The nesting of the entry that is being read; 0: none is."""
        self._fields: dict[str, str] = {}
        self._text: list[str] | None = None
        self._length = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._take_text
        parser.StartDoctypeDeclHandler = self._refuse

    def __call__(self, piece: bytes) -> list[SitemapEntry]:
        """Read a piece; an empty one is the end."""
        self._entries = []
        try:
            self._parser.Parse(piece, not piece)
        except _EndOfReading as end:
            self._sitemap.note(str(end))
        except expat.ExpatError as error:
            self._sitemap.note(f"it is not valid XML ({error})")
        except (ValueError, LookupError) as error:  # an encoding that nobody knows
            self._sitemap.note(f"it cannot be decoded ({error})")
        return self._entries

    def _refuse(self, *_: object) -> None:
        raise _EndOfReading("it has a DTD, which is not read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._nesting += 1
        local = name.rpartition(":")[2].lower()
        if self._nesting == 1:
            self._begin(local)
        elif self._nesting > MAX_NESTING:
            raise _EndOfReading("its elements are nested too deep")
        elif not self._entry_at:
            if local == self._entry_name:
                self._entry_at, self._fields = self._nesting, {}
        elif self._nesting == self._entry_at + 1 and local in _FIELDS:
            self._text, self._length = [], 0
            if "href" in attributes and attributes.get("rel", "alternate") == "alternate":
                self._fields.setdefault("href", attributes["href"])

    def _begin(self, root: str) -> None:
        if root not in _ENTRIES:
            raise _EndOfReading(f"its root element is {root[:40]!r}, which no sitemap has")
        self._entry_name = _ENTRIES[root]
        self._sitemap.is_index = root == "sitemapindex"

    def _take_text(self, data: str) -> None:
        if self._text is not None and self._length <= MAX_FIELD_LENGTH:
            self._text.append(data)
            self._length += len(data)

    def _end(self, name: str) -> None:
        if self._text is not None and self._nesting == self._entry_at + 1:
            value = "".join(self._text).strip()[:MAX_FIELD_LENGTH]
            if value:
                self._fields.setdefault(name.rpartition(":")[2].lower(), value)
            self._text = None
        elif self._nesting == self._entry_at:
            self._finish(self._fields)
            self._entry_at = 0
        self._nesting -= 1

    def _finish(self, fields: dict[str, str]) -> None:
        text = fields.get("loc") or fields.get("href") or fields.get("link")
        url = resolve(text, self._base) if text else None
        if url is not None:
            dates = ("lastmod", "updated", "pubdate", "date")
            date = read_date(next((fields[name] for name in dates if name in fields), None))
            self._entries.append(SitemapEntry(url, date, read_priority(fields.get("priority"))))


def read_priority(text: str | None) -> float | None:
    """Return a priority; None if it is not a number from 0 to 1."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


def read_date(text: str | None) -> float | None:
    """Return a date in seconds since the epoch: W3C (2026-11-17T20:00Z) or as in mails; or None."""
    if not text or len(text) > 64:
        return None
    partial = _PARTIAL_DATE.match(text)
    try:
        if partial:
            moment = datetime(int(partial[1]), int(partial[2] or 1), 1, tzinfo=UTC)
        elif text[0].isdigit() and text[4:5] == "-":
            moment = datetime.fromisoformat(text)
        else:
            moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
