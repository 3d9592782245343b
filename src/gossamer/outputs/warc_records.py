"""What an archive is made of: the records of its pages, and the CDXJ index of these.

A page is a `response` with the `request` that was made for it and `metadata` with its links; or, if
the archive has the same body already, a `revisit` in place of the response. Each record is a gzip
member of its own, so that one can be read without the others.

A line of the index is the URL's sort-friendly form (SURT), the time, and an object with the place
of the answer: sorted by URL, for replay tools.
"""

import hashlib
import heapq
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, TypeVar
from urllib.parse import quote, unquote_to_bytes, urlsplit

import msgspec
from isal import isal_zlib

from gossamer.model import Page
from gossamer.outputs.contract import PositionLostError
from gossamer.outputs.journal import AppendFile

T = TypeVar("T")

LEVEL: Final = 2
"""Of isal: as small as zlib makes it at its level 2, in a fifth of the time."""
KNOWN_BODIES: Final = 200_000
"""So many bodies are remembered, about 40 MB. An older one that comes again is stored again."""
SORTED_LINES: Final = 200_000
"""So many lines of the index are sorted in memory; more are merged from temporary files."""
IDENTICAL: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
REVISIT: Final = "warc/revisit"
"""The type of a record that has no body."""

_PROTOCOL: Final = re.compile(rb"HTTP/([23])(?:\.\d)?(?= )")
_REQUEST: Final = re.compile(rb"GET (\S+) HTTP/\S+\r\nHost: (\S+)\r\n")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
# Base 32, two letters at a time: the standard library takes ten times as long for a digest.
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = tuple(first + second for first in _LETTERS for second in _LETTERS)
_SHIFTS: Final = range(150, -10, -10)
_HTTP_RESPONSE: Final = "application/http; msgtype=response"
_HTTP_REQUEST: Final = "application/http; msgtype=request"
_FIELDS: Final = "application/warc-fields"
_NO_HEADER: Final = "the header of the answer was not kept: what stands for it has only the status \
and the content type"

_WWW: Final = re.compile(r"www\d*\.")
_SLASHES: Final = re.compile(r"//+")
_SESSION: Final = re.compile(r"(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}(?:&|$)")
_STAY: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_LONGEST_LINE: Final = 100_000


def archived_head(head: bytes, length: int) -> bytes:
    """Return the header of an answer, to stand before a body of that length."""
    status, *lines = head.rstrip(b"\r\n").splitlines()
    fields, has_length = [_PROTOCOL.sub(b"HTTP/1.1", status)], False
    for line in lines:
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        is_length = name == b"content-length"
        is_right = is_length and not has_length and value.strip() == b"%d" % length
        is_void = name == b"transfer-encoding" or (is_length and not is_right)
        fields.append(b"X-Crawl-" + line if is_void else line)
        has_length |= is_right
    if not has_length:
        fields.append(b"Content-Length: %d" % length)
    return b"\r\n".join((*fields, b"", b""))


def protocol(head: bytes) -> str | None:
    """Return the name of the protocol if it is newer than HTTP/1.1."""
    match = _PROTOCOL.match(head)
    return None if match is None else f"h{match[1].decode()}"


def made_up_head(page: Page) -> bytes:
    """Return a header for a page of which none was kept: only what the crawl knows."""
    phrases = {status.value: status.phrase for status in HTTPStatus}
    content_type = _CONTROL.sub(" ", page.content_type).encode("latin-1", "replace")
    return b"HTTP/1.1 %d %b\r\n%bContent-Length: %d\r\n\r\n" % (
        page.status,
        phrases.get(page.status, "").encode(),
        b"Content-Type: %b\r\n" % content_type if content_type else b"",
        len(page.body),
    )


class Capture(msgspec.Struct, frozen=True, gc=False):
    """A body in the archive: where it is from, and when it was received."""

    url: str
    date: str


class PageRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a page, compressed."""

    answer: bytes
    """The response or the revisit, which stands first."""
    others: bytes


def payload_digest(page: Page) -> str:
    """Return the digest of a page's body as it was received."""
    return _digest(_payload(page))


def asked_url(page: Page) -> str:
    """Return the URL that was asked for: a redirect may have led to another spelling of it."""
    asked = _REQUEST.match(page.exchange.request) if page.exchange is not None else None
    if asked is None:
        return page.url
    scheme = page.url.partition("://")[0]
    return f"{scheme}://{asked[2].decode('latin-1')}{asked[1].decode('latin-1')}"


@lru_cache(16)
def warc_date(time: int) -> str:
    """Return a time, in whole seconds, as archives have it."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page_records(page: Page, digest: str, earlier: Capture | None, warcinfo: str) -> PageRecords:
    """Return the records of a page; `earlier` is where the archive has its body already."""
    record_id, payload = _new_id(), _payload(page)
    exchange = page.exchange
    head = made_up_head(page) if exchange is None else archived_head(exchange.head, len(payload))
    shared = [("WARC-Target-URI", asked_url(page)), ("WARC-Date", warc_date(int(page.fetched_at)))]
    shared.append(("WARC-Warcinfo-ID", warcinfo))
    if exchange is not None and exchange.address:
        shared.append(("WARC-IP-Address", exchange.address))
    if exchange is not None and (newer := protocol(exchange.head)) is not None:
        shared.append(("WARC-Protocol", newer))
    headers = [*shared, ("WARC-Payload-Digest", digest), ("Content-Type", _HTTP_RESPONSE)]
    if earlier is None:
        answer = _member("response", record_id, headers, (head, payload))
    else:
        headers += [
            ("WARC-Profile", IDENTICAL),
            ("WARC-Refers-To-Target-URI", earlier.url),
            ("WARC-Refers-To-Date", earlier.date),
        ]
        answer = _member("revisit", record_id, headers, (head,))
    others = b"".join(_others(page, [*shared, ("WARC-Concurrent-To", record_id)]))
    return PageRecords(answer=answer, others=others)


def warcinfo_record(record_id: str, file_name: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the record that an archive begins with, compressed."""
    now = int(datetime.now(UTC).timestamp())
    headers = [("WARC-Date", warc_date(now)), ("WARC-Filename", file_name)]
    return _member("warcinfo", record_id, [*headers, ("Content-Type", _FIELDS)], (_lines(fields),))


def _others(page: Page, shared: list[tuple[str, str]]) -> Iterable[bytes]:
    exchange = page.exchange
    if exchange is not None:
        headers = [*shared, ("Content-Type", _HTTP_REQUEST)]
        yield _member("request", _new_id(), headers, (exchange.request,))
    fields = [("outlink", str(url)) for url in dict.fromkeys(page.links)]
    if page.found_on is not None:
        fields.insert(0, ("via", page.found_on))
    if page.encoding:
        fields.insert(0, ("charset-detected", page.encoding))
    if exchange is None:
        fields.insert(0, ("note", _NO_HEADER))
    yield _member("metadata", _new_id(), [*shared, ("Content-Type", _FIELDS)], (_lines(fields),))


def _payload(page: Page) -> bytes:
    """Return the body as received; one without a header to tell its coding is the decoded one."""
    return page.body if page.exchange is None else page.wire_body


def _lines(fields: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode()


def _new_id() -> str:
    """Return a random id, as `uuid4` has it in a fraction of the time."""
    drawn = os.urandom(16).hex()
    variant = "89ab"[int(drawn[16], 16) & 3]
    return (
        f"<urn:uuid:{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-{variant}{drawn[17:20]}-{drawn[20:]}>"
    )


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    number = int.from_bytes(digest.digest())
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def _member(
    kind: str, record_id: str, headers: Iterable[tuple[str, str]], block: tuple[bytes, ...]
) -> bytes:
    """Return a record as a gzip member."""
    head = [("WARC-Type", kind), ("WARC-Record-ID", record_id), *headers]
    head.append(("WARC-Block-Digest", _digest(*block)))
    head.append(("Content-Length", str(sum(map(len, block)))))
    packer = isal_zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    parts = [packer.compress(b"WARC/1.1\r\n" + _lines(head) + b"\r\n")]
    parts += map(packer.compress, block)
    return b"".join((*parts, packer.compress(b"\r\n\r\n"), packer.flush()))


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
        "=".join(pair) for pair in sorted(tuple(pair.split("=", 1)) for pair in query.split("&"))
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


class Captures:
    """The journal of one archive: the lines of its index, in the order of the records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AppendFile(path)
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
            if (index_line := read_line(line)) is None:
                raise PositionLostError
            self._remember(index_line, offset)
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
