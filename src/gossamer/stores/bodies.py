"""The content of a page as it is kept in a store: its body and its exchange, in one record.

A body that was received with a content coding is kept as it was received: it is compressed already,
and an archive of the crawl has the bytes of the server. Any other is compressed with Zstandard.
"""

import asyncio
import os
import re
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec
import xxhash
import zstandard

from gossamer.download.body import Body, CodingError, decoders_of
from gossamer.model import Exchange
from gossamer.model.errors import UsageError
from gossamer.stores.files import owner_of, write_file
from gossamer.stores.object_store import (
    S3_SCHEME,
    NoObjectError,
    ObjectStore,
    S3Address,
    parse_s3_address,
)
from gossamer.stores.rows import read_note

MAX_EXCHANGE_BYTES: Final = 1_000_000
"""More than the limits of URLs and headers allow together."""

# Exchanges that are stored cannot be read with another text: a change is a new format of the store.
_USUAL: Final = b"""\
X-Powered-By: PHP/\r
X-XSS-Protection: 1; mode=block\r
Referrer-Policy: strict-origin-when-cross-origin\r
X-Content-Type-Options: nosniff\r
X-Frame-Options: SAMEORIGIN\r
Strict-Transport-Security: max-age=31536000; includeSubDomains; preload\r
Access-Control-Allow-Origin: *\r
Link: <https://>; rel="\r
Set-Cookie: ; path=/; Secure; HttpOnly; SameSite=Lax\r
Age: 0\r
Via: 1.1 varnish\r
X-Cache: HIT\r
Alt-Svc: h3=":443"; ma=86400\r
Pragma: no-cache\r
Expires: Thu, 19 Nov 1981 08:52:00 GMT\r
Cache-Control: no-store, no-cache, must-revalidate, private, public, max-age=3600\r
ETag: W/"\r
Accept-Ranges: bytes\r
Vary: Accept-Encoding\r
Transfer-Encoding: chunked\r
Connection: keep-alive\r
Last-Modified: Mon, Tue, Wed, Thu, Fri, Sat, Sun, Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec GMT\r
Content-Language: en\r
Content-Encoding: gzip\r
Content-Length: \r
Content-Type: text/html; charset=UTF-8\r
Content-Type: text/html; charset=utf-8\r
Server: cloudflare Apache nginx/1.\r
Date: \r
HTTP/1.1 200 OK\r
User-Agent: Gossamer/1.0.0 (+https://\r
Accept: text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1\r
Accept-Encoding: gzip, deflate, br\r
\r
Host: www..html HTTP/1.1\r
GET /"""  # noqa: E501 -- it is one line

_LEVEL: Final = -1
"""The fastest: 3 µs to a size of 210 bytes. zlib takes 15 µs to 170 bytes."""
_DICTIONARY: Final = zstandard.ZstdCompressionDict(_USUAL, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

_encode_exchange = msgspec.msgpack.Encoder().encode
_decode_exchange = msgspec.msgpack.Decoder(tuple[bytes, bytes, str | None]).decode


class ExchangePacker:
    """Packs exchanges as they are kept; for one thread."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(
            _LEVEL, dict_data=_DICTIONARY, write_content_size=False
        ).compress

    def pack(self, exchange: Exchange) -> bytes:
        """Return an exchange as it is kept."""
        return self._compress(_encode_exchange((exchange.request, exchange.head, exchange.address)))


def read_exchange(packed: bytes) -> Exchange:
    """Return a kept exchange; CodingError if it is damaged."""
    decompressor = zstandard.ZstdDecompressor(dict_data=_DICTIONARY)
    try:
        with decompressor.stream_reader(packed) as reader:
            return Exchange(*_decode_exchange(reader.read(MAX_EXCHANGE_BYTES)))
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise CodingError(f"the exchange cannot be read: {error}") from error


PACKING_LEVEL: Final = 1
"""The fastest level that is worth it: docs/content-storage.md."""

MAX_CODED_BYTES: Final = 1_000_000_000
"""A forged body that comes to nothing in the end is not decoded any further."""

_PIECE_BYTES: Final = 64 * 1024


class PageContent(msgspec.Struct, frozen=True, array_like=True):
    """The content of a page, as it lies in a store."""

    coding: str
    """The content codings of the body as it was received; empty: it had none, and is compressed
    with Zstandard."""
    size: int
    """How large the body is when it is decoded."""
    packed: bytes
    packed_exchange: bytes = b""

    def body(self) -> bytes:
        """Return the body, decoded; CodingError if it is damaged.

        No more is decoded than its size says, so a forged one cannot fill the memory.
        """
        body = self.first(self.size + 1)
        if len(body) != self.size:
            raise CodingError("it does not have its recorded size")
        return body

    def first(self, limit: int) -> bytes:
        """Return the body, decoded, or as much of it as a limit allows; CodingError."""
        if self.coding:
            return self._decoded(limit)
        try:
            with zstandard.ZstdDecompressor().stream_reader(self.packed) as reader:
                return reader.read(limit)
        except zstandard.ZstdError as error:
            raise CodingError(str(error)) from error

    def wire_body(self, body: bytes) -> bytes:
        """Return the body as it was received, given the decoded one."""
        return self.packed if self.coding else body

    def exchange(self) -> Exchange | None:
        """Return the exchange; None if none was kept; CodingError if it is damaged."""
        return read_exchange(self.packed_exchange) if self.packed_exchange else None

    def _decoded(self, limit: int) -> bytes:
        decoders = decoders_of(self.coding.split(", "))
        if decoders is None:
            raise CodingError(f"its coding {self.coding!r} is unknown")
        body = Body(decoders, limit, MAX_CODED_BYTES)
        cause = None
        for start in range(0, len(self.packed), _PIECE_BYTES):
            cause = body.feed(self.packed[start : start + _PIECE_BYTES])
            if cause is not None:
                break
        content = body.content()
        if len(content) < limit and (cause or body.finish()) is not None:
            raise CodingError(f"it is not what its coding {self.coding!r} says")
        return content


_encode_content = msgspec.msgpack.Encoder().encode
_decode_content = msgspec.msgpack.Decoder(PageContent).decode


class ContentPacker:
    """Packs the contents of pages; for one thread."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(level=PACKING_LEVEL).compress
        self._exchanges = ExchangePacker()

    def pack(
        self,
        body: bytes,
        exchange: Exchange | None = None,
        *,
        coding: str = "",
        wire_body: bytes = b"",
    ) -> bytes:
        """Return the content of a page as a store keeps it.

        `wire_body` is the body as it was received, where it had a coding.
        """
        packed = wire_body if coding else self._compress(body)
        packed_exchange = self._exchanges.pack(exchange) if exchange else b""
        return _encode_content(PageContent(coding, len(body), packed, packed_exchange))


def read_content(packed: bytes) -> PageContent:
    """Return the content of a kept page; CodingError if it is damaged."""
    try:
        return _decode_content(packed)
    except msgspec.MsgspecError as error:
        raise CodingError(f"it is no record of a content: {error}") from error


ENDING, INDEX_ENDING = ".bodies", ".index"
MARK: Final = b"\xc1"
_NAME: Final = re.compile(r"[0-9]+-[0-9a-f]{12}-[0-9]+")
"""Of a segment: the number of its worker, a word that is drawn at its start, and a number."""

_MAGIC: Final = b"gossamer bodies 1\n"
_RECORD: Final = struct.Struct(">4sIQd16sQ")
_RECORD_MAGIC: Final = b"page"
HEAD_BYTES: Final = _RECORD.size


class RecordHead(NamedTuple):
    """What a record says of its content."""

    magic: bytes
    length: int
    url_id: int
    fetched_at: float
    digest: bytes
    """Of the body, decoded: what the page is known by in the store."""
    checksum: int
    """Of the content, packed."""


class BodyReference(msgspec.Struct, frozen=True, array_like=True):
    """Where the content of a page is."""

    segment: str
    offset: int
    """Where its record begins."""
    length: int
    """How long the content is, packed."""
    checksum: int
    """Of the content, packed: xxh3, 64 bits."""

    def pack(self) -> bytes:
        """Return the reference as it is stored."""
        return MARK + msgspec.msgpack.encode(self)

    @classmethod
    def unpack(cls, stored: bytes) -> Self | None:
        """Return the reference that is stored; None: it is the content itself; CodingError."""
        if not stored.startswith(MARK):
            return None
        try:
            return msgspec.msgpack.decode(stored[len(MARK) :], type=cls)
        except msgspec.MsgspecError as error:
            raise CodingError(f"it is no reference to a body: {error}") from error


class SegmentIndex(msgspec.Struct, frozen=True, array_like=True):
    """What lies beside a finished segment."""

    identity: str
    """Of the crawl that it belongs to (`stores/files.py`)."""
    end: int
    """Where its last record ends: anything behind that is torn."""
    newest: float
    """When the last of its pages was fetched."""

    def write(self, segment: Path) -> None:
        """Write the index of a segment, which is finished then."""
        name = f"{segment.stem}{INDEX_ENDING}"
        write_file(str(segment.parent), name, (msgspec.msgpack.encode(self),), durable=True)


def read_index(packed: bytes) -> SegmentIndex | None:
    """Return an index; None if it is none of ours."""
    try:
        return msgspec.msgpack.decode(packed, type=SegmentIndex)
    except msgspec.MsgspecError:
        return None


def is_segment_name(name: str) -> bool:
    """Tell whether a segment can be called so."""
    return _NAME.fullmatch(name) is not None


def file_head(identity: str) -> bytes:
    """Return the first bytes of a segment."""
    return _MAGIC + identity.encode() + b"\n"


def make_record(content: bytes, url_id: int, fetched_at: float, digest: bytes) -> tuple[bytes, int]:
    """Return the head of a record, and the checksum of its content."""
    checksum = xxhash.xxh3_64_intdigest(content)
    head = RecordHead(_RECORD_MAGIC, len(content), url_id, fetched_at, digest, checksum)
    return _RECORD.pack(*head), checksum


def content_of(record: bytes, reference: BodyReference) -> bytes:
    """Return the content in the bytes of a record; CodingError if it is not what was written."""
    if len(record) < HEAD_BYTES + reference.length:
        raise CodingError(f"segment {reference.segment} ends before it")
    head = RecordHead._make(_RECORD.unpack_from(record))
    content = record[HEAD_BYTES : HEAD_BYTES + reference.length]
    is_same = head.magic == _RECORD_MAGIC and head.length == reference.length
    if not is_same or not head.checksum == reference.checksum == xxhash.xxh3_64_intdigest(content):
        raise CodingError(f"segment {reference.segment} has something else in its place")
    return content


def scan(path: Path) -> SegmentIndex | None:
    """Return the index of a segment, made from its whole records; None if it is none of ours."""
    with path.open("rb") as file:
        identity = file.readline() == _MAGIC and file.readline().strip().decode("ascii", "replace")
        if not identity:
            return None
        end, newest, size = file.tell(), 0.0, os.fstat(file.fileno()).st_size
        while (head := file.read(HEAD_BYTES)) and len(head) == HEAD_BYTES:
            found = RecordHead._make(_RECORD.unpack(head))
            behind = file.seek(found.length, os.SEEK_CUR)
            if found.magic != _RECORD_MAGIC or behind > size:
                break
            end, newest = behind, max(newest, found.fetched_at)
    return SegmentIndex(identity, end, newest)


def own_segments(folder: Path, identity: str) -> Iterator[Path]:
    """Yield the segments in a folder that are this crawl's."""
    head = file_head(identity)
    for path in sorted(folder.glob(f"*{ENDING}")):
        if is_segment_name(path.stem) and not path.is_symlink():
            with path.open("rb") as file:
                found = file.read(len(head))
            if found == head:
                yield path


BODIES_NAME: Final = "bodies"
IN_STORE: Final = "store"
SPOOL: Final = "bodies"
"""The folder in the crawl's directory for segments that are not uploaded yet."""


class BodyPlace(msgspec.Struct, frozen=True):
    """Where segments are, for every process of the crawl and whoever reads it."""

    folder: str
    """The absolute path of the folder; with an object store, of segments that are still to be
    uploaded from the machine of the coordinator."""
    bucket: str = ""
    """The address `s3://BUCKET/PREFIX`; empty: the folder is where segments stay."""

    def __str__(self) -> str:
        return self.bucket or self.folder

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def address(self) -> S3Address | None:
        """The object store; None: there is none."""
        return parse_s3_address(self.bucket) if self.bucket else None

    def pack(self) -> bytes:
        """Return the note."""
        return msgspec.json.encode(self)


def place_of(option: str, directory: Path) -> BodyPlace | None:
    """Return where `--bodies` wants them, in a crawl with that directory; None: in the store."""
    if option == IN_STORE:
        return None
    if option.startswith(S3_SCHEME):
        folder = str((directory / SPOOL).absolute())
        return BodyPlace(folder, str(parse_s3_address(option)))
    return BodyPlace(os.path.abspath(Path(option).expanduser()))  # noqa: PTH100 -- no links followed


def read_place(note: bytes | None) -> BodyPlace | None:
    """Return where the bodies of a crawl are; None: in the store."""
    return read_note(note, BodyPlace, "the note of where the bodies are is")


def check_change(before: BodyPlace | None, wanted: BodyPlace | None, identity: str) -> None:
    """Refuse to continue a crawl with a place where its readers would miss bodies.

    They may go from the store to segments, and a folder may have been moved.
    """
    if before is None or (wanted is not None and str(wanted) == str(before)):
        return
    if wanted is not None and not wanted.bucket and not before.bucket:
        owner = owner_of(wanted.path)
        if owner is not None and owner.identity == identity:
            return
    raise UsageError(
        f"the bodies of this crawl are in {before}, and its pages refer to them: continue with "
        f"--bodies {before}; if you have moved that directory, name it where it is now"
    )


class SegmentReader:
    """Reads records of segments at one place."""

    def __init__(self, place: BodyPlace) -> None:
        self._place = place
        self.are_far = bool(place.bucket)
        """Whether to read one takes as long as a request."""
        self._objects: ObjectStore | None = None

    def read(self, stored: bytes) -> bytes:
        """Return the content that a store has, or that it refers to; CodingError."""
        reference = BodyReference.unpack(stored)
        if reference is None:
            return stored
        if not is_segment_name(reference.segment):
            raise CodingError(f"it refers to {reference.segment!r}, which is no segment")
        record = self._from_folder(reference)
        return content_of(self._from_bucket(reference) if record is None else record, reference)

    def _from_folder(self, reference: BodyReference) -> bytes | None:
        path = f"{self._place.folder}/{reference.segment}{ENDING}"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb"):
                return os.pread(descriptor, HEAD_BYTES + reference.length, reference.offset)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CodingError(f"{path} cannot be read: {error.strerror}") from error

    def _from_bucket(self, reference: BodyReference) -> bytes:
        address = self._place.address
        name = f"{reference.segment}{ENDING}"
        if address is None:
            raise CodingError(f"segment {name} is not in {self._place}")
        if self._objects is None:
            self._objects = ObjectStore(address.bucket)
        length = HEAD_BYTES + reference.length
        try:
            return self._objects.read_part(f"{address.key}/{name}", reference.offset, length)
        except NoObjectError:
            raise CodingError(
                f"segment {name} is not in {self._place}: the worker that writes it has it still"
            ) from None


class BodyReader:
    """Reads the bodies of one crawl; where they are is asked for when the first is not at hand."""

    def __init__(self, note: Callable[[str], Awaitable[bytes | None]]) -> None:
        self._note = note
        self._segments: SegmentReader | None = None

    async def read(self, stored: bytes) -> bytes:
        """Return the content that a store has, or that it refers to; CodingError."""
        if not stored.startswith(MARK):
            return stored
        segments = await self.segments()
        if segments.are_far:  # others have their turn meanwhile
            return await asyncio.to_thread(segments.read, stored)
        return segments.read(stored)

    async def segments(self) -> SegmentReader:
        """Return the reader of the segments."""
        if self._segments is None:
            place = read_place(await self._note(BODIES_NAME))
            self._segments = SegmentReader(place or BodyPlace(os.devnull))
        return self._segments
