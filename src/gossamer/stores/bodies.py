"""The content of a page as it is stored: packed, in the store itself or in a segment outside of it.

A content is the body and the exchange in one record. A body that was received with a content coding
is stored as it was received: it is compressed already, and an archive has the bytes of the server.
Any other is compressed with Zstandard, and so is every exchange.

A segment is a file of records that is only appended to (`body_writer.py`). It begins with the
identity of its crawl; a record is a head of fixed size and a packed content. The store has then a
reference in place of the content: in which segment it is, and where. It needs no column of its own:
a packed content is an array of msgpack, and a reference begins with a byte that msgpack never uses.
In Redis a large content has a key of its own (`redis/bodies.py`), which a reference names.
"""

import asyncio
import os
import re
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec
import xxhash
import zstandard
from msgspec.structs import astuple

from gossamer.download.body import Body, CodingError, decoders_of
from gossamer.model import Exchange
from gossamer.model.errors import UsageError
from gossamer.stores.files import owner_of
from gossamer.stores.object_store import (
    S3_SCHEME,
    NoObjectError,
    ObjectStore,
    S3Address,
    parse_s3_address,
)
from gossamer.stores.rows import decode_metadata

PACKING_LEVEL: Final = 1
"""The fastest level that is worth it: docs/content-storage.md."""
MAX_EXCHANGE_BYTES: Final = 1_000_000
"""More than the limits of URLs and headers allow together."""
MAX_CODED_BYTES: Final = 1_000_000_000
"""A forged body that comes to nothing in the end is not decoded any further."""
_PIECE_BYTES: Final = 64 * 1024

_encode: Final = msgspec.msgpack.Encoder().encode

# -- a packed content ----------------------------------------------------------------------------


class PageContent(msgspec.Struct, frozen=True, array_like=True):
    """The content of a page, as it is stored."""

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
        if not self.coding:
            return _decompress(self.packed, limit)
        decoders = decoders_of(self.coding.split(", "))
        if decoders is None:
            raise CodingError(f"its coding {self.coding!r} is unknown")
        body = Body(decoders, limit, MAX_CODED_BYTES)
        cause = None
        for start in range(0, len(self.packed), _PIECE_BYTES):
            if cause := body.feed(self.packed[start : start + _PIECE_BYTES]):
                break
        content = body.content()
        if len(content) < limit and (cause or body.finish()) is not None:
            raise CodingError(f"it is not what its coding {self.coding!r} says")
        return content

    def wire_body(self, body: bytes) -> bytes:
        """Return the body as it was received, given the decoded one."""
        return self.packed if self.coding else body

    def exchange(self) -> Exchange | None:
        """Return the exchange; None if none was stored; CodingError if it is damaged."""
        if not self.packed_exchange:
            return None
        exchange = _decompress(self.packed_exchange, MAX_EXCHANGE_BYTES)
        try:
            return Exchange(*_decode_exchange(exchange))
        except msgspec.MsgspecError as error:
            raise CodingError(f"the exchange cannot be read: {error}") from error


_decode_content: Final = msgspec.msgpack.Decoder(PageContent).decode
_decode_exchange: Final = msgspec.msgpack.Decoder(tuple[bytes, bytes, str | None]).decode


class ContentPacker:
    """Packs the contents of pages; for one thread."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(level=PACKING_LEVEL).compress

    def pack(
        self,
        body: bytes,
        exchange: Exchange | None = None,
        *,
        coding: str = "",
        wire_body: bytes = b"",
    ) -> bytes:
        """Return the content of a page as a store has it.

        `wire_body` is the body as it was received, where it had a coding.
        """
        packed = wire_body if coding else self._compress(body)
        packed_exchange = self._compress(_encode(astuple(exchange))) if exchange else b""
        return _encode(PageContent(coding, len(body), packed, packed_exchange))


def read_content(packed: bytes) -> PageContent:
    """Return the content of a page that was packed; CodingError if it is damaged."""
    try:
        return _decode_content(packed)
    except msgspec.MsgspecError as error:
        raise CodingError(f"it is no record of a content: {error}") from error


def _decompress(packed: bytes, limit: int) -> bytes:
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return reader.read(limit)
    except zstandard.ZstdError as error:
        raise CodingError(str(error)) from error


# -- a record of a segment -----------------------------------------------------------------------

ENDING, INDEX_ENDING = ".bodies", ".index"
REFERENCE: Final = b"\xc1"
"""How a reference begins."""
RECORD: Final = struct.Struct(">4sIQd16sQ")
RECORD_MAGIC: Final = b"page"
_NAME: Final = re.compile(r"[0-9]+-[0-9a-f]{12}-[0-9]+")
"""Of a segment: the number of its worker, a word that is drawn at its start, and a number."""
_BODY_NAME: Final = re.compile(r"[0-9]+:[0-9]+:[0-9a-f]{16}")
"""Of a body in Redis: the id of its URL, the number of the lease, and its checksum. So a name never
has another content, also where a server that forgot gives ids and numbers again."""


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
    """Its name; or that of a body in Redis, which is alone there."""
    offset: int
    """Where its record begins."""
    length: int
    """How long the content is, packed."""
    checksum: int
    """Of the content, packed: xxh3, 64 bits."""

    def pack(self) -> bytes:
        """Return the reference as it is stored."""
        return REFERENCE + _encode(self)

    @classmethod
    def unpack(cls, stored: bytes) -> Self | None:
        """Return the reference that is stored; None: it is the content itself; CodingError."""
        if not stored.startswith(REFERENCE):
            return None
        try:
            return msgspec.msgpack.decode(stored[len(REFERENCE) :], type=cls)
        except msgspec.MsgspecError as error:
            raise CodingError(f"it is no reference to a body: {error}") from error

    def content_of(self, record: bytes) -> bytes:
        """Return the content in the bytes of a record; CodingError if it is another one."""
        if len(record) < RECORD.size + self.length:
            raise CodingError(f"segment {self.segment} ends before it")
        head = RecordHead._make(RECORD.unpack_from(record))
        content = record[RECORD.size : RECORD.size + self.length]
        is_same = head.magic == RECORD_MAGIC and head.length == self.length
        if not is_same or not head.checksum == self.checksum == xxhash.xxh3_64_intdigest(content):
            raise CodingError(f"segment {self.segment} has something else in its place")
        return content


def is_segment_name(name: str) -> bool:
    """Tell whether a segment can be called so."""
    return _NAME.fullmatch(name) is not None


def body_name(stored: bytes) -> str | None:
    """Return the name of the body in Redis that is referred to; None: no such body is."""
    try:
        reference = BodyReference.unpack(stored)
    except CodingError:  # whoever reads it tells
        return None
    return reference.segment if reference and _BODY_NAME.fullmatch(reference.segment) else None


# -- where segments are --------------------------------------------------------------------------

BODIES_NAME: Final = "bodies"
"""Where the place of the bodies is among the metadata of a crawl."""
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
    def address(self) -> S3Address | None:
        """The object store; None: there is none."""
        return parse_s3_address(self.bucket) if self.bucket else None

    def pack(self) -> bytes:
        """Return the place as it is stored."""
        return msgspec.json.encode(self)


def place_of(option: str, directory: Path) -> BodyPlace | None:
    """Return where `--bodies` wants them, in a crawl with that directory; None: in the store."""
    if option == IN_STORE:
        return None
    if option.startswith(S3_SCHEME):
        folder = str((directory / SPOOL).absolute())
        return BodyPlace(folder, str(parse_s3_address(option)))
    return BodyPlace(os.path.abspath(Path(option).expanduser()))  # noqa: PTH100 -- no links followed


def read_place(stored: bytes | None) -> BodyPlace | None:
    """Return where the bodies of a crawl are; None: in the store."""
    return decode_metadata(stored, BodyPlace, "the place of the bodies in the store is")


def check_change(before: BodyPlace | None, wanted: BodyPlace | None, identity: str) -> None:
    """Refuse to continue a crawl with a place where its readers would miss bodies.

    They may go from the store to segments, and a folder may have been moved.
    """
    if before is None or (wanted is not None and str(wanted) == str(before)):
        return
    if wanted is not None and not wanted.bucket and not before.bucket:
        owner = owner_of(Path(wanted.folder))
        if owner is not None and owner.identity == identity:
            return
    raise UsageError(
        f"the bodies of this crawl are in {before}, and its pages refer to them: continue with "
        f"--bodies {before}; if you have moved that directory, name it where it is now"
    )


# -- reading -------------------------------------------------------------------------------------


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
        name, length = f"{reference.segment}{ENDING}", RECORD.size + reference.length
        path = f"{self._place.folder}/{name}"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb"):
                record = os.pread(descriptor, length, reference.offset)
        except FileNotFoundError:
            record = self._from_bucket(name, reference.offset, length)
        except OSError as error:
            raise CodingError(f"{path} cannot be read: {error.strerror}") from error
        return reference.content_of(record)

    def _from_bucket(self, name: str, offset: int, length: int) -> bytes:
        address = self._place.address
        if address is None:
            raise CodingError(f"segment {name} is not in {self._place}")
        self._objects = self._objects or ObjectStore(address.bucket)
        try:
            return self._objects.read_part(f"{address.key}/{name}", offset, length)
        except NoObjectError:
            raise CodingError(
                f"segment {name} is not in {self._place}: the worker that writes it has it still"
            ) from None


async def no_body(_name: str) -> bytes | None:
    """Return None: the store is no Redis, where bodies have names."""
    return None


class BodyReader:
    """Reads the bodies of one crawl; where they are is asked for when the first is not at hand."""

    def __init__(
        self,
        metadata: Callable[[str], Awaitable[bytes | None]],
        fetch: Callable[[str], Awaitable[bytes | None]] = no_body,
    ) -> None:
        """Take who reads metadata, and bodies that have a name in the store."""
        self._metadata = metadata
        self._fetch = fetch
        self._segments: SegmentReader | None = None

    async def read(self, stored: bytes) -> bytes:
        """Return the content that a store has, or that it refers to; CodingError."""
        if not stored.startswith(REFERENCE):
            return stored
        if (name := body_name(stored)) is not None:
            content = await self._fetch(name)
            if content is None:
                raise CodingError("the store does not have it any more")
            return content
        segments = await self.segments()
        if segments.are_far:  # others have their turn meanwhile
            return await asyncio.to_thread(segments.read, stored)
        return segments.read(stored)

    async def segments(self) -> SegmentReader:
        """Return the reader of the segments."""
        if self._segments is None:
            place = read_place(await self._metadata(BODIES_NAME))
            self._segments = SegmentReader(place or BodyPlace(os.devnull))
        return self._segments
