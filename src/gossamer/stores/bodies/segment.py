"""A segment: a file of records that is only appended to, and its index when it is finished.

It begins with the identity of its crawl. A record is a head of fixed size and the content of a
page, packed as a store would keep it (`stores/bodies/content.py`). A process that dies while it
writes leaves a torn record at the end, to which nothing refers.

A store keeps a reference in place of the content: where in which segment it is. Neither needs a
column of its own: a packed content is an array of msgpack, and a reference begins with a byte that
msgpack never uses.
"""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec
import xxhash

from gossamer.download.body import CodingError
from gossamer.stores.files import write_file

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
