"""A segment: a file of records that is only appended to, and its index when it is finished.

It begins with the identity of its crawl. A record is a head of fixed size and the content of a
page, packed as a store would keep it (`codings/kept.py`). A process that dies while it writes
leaves a torn record at the end, to which nothing refers: it is left out of the index.
"""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import xxhash

from gossamer.codings import CodingError
from gossamer.stores.bodies.reference import BodyReference

ENDING, INDEX_ENDING = ".bodies", ".index"
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


class SegmentRecord(msgspec.Struct, frozen=True, array_like=True):
    """One record of a finished segment."""

    offset: int
    length: int
    url_id: int
    fetched_at: float
    digest: bytes


class SegmentIndex(msgspec.Struct, frozen=True, array_like=True):
    """What is in a finished segment."""

    identity: str
    """Of the crawl that it belongs to (`stores/ownership.py`)."""
    records: list[SegmentRecord]

    @property
    def newest(self) -> float:
        """When the last of its pages was fetched."""
        return max((one.fetched_at for one in self.records), default=0.0)

    def pack(self) -> bytes:
        """Return the index as it is stored."""
        return msgspec.msgpack.encode(self)


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
    return (
        _RECORD.pack(_RECORD_MAGIC, len(content), url_id, fetched_at, digest, checksum),
        checksum,
    )


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
        records: list[SegmentRecord] = []
        offset, size = file.tell(), os.fstat(file.fileno()).st_size
        while (head := file.read(HEAD_BYTES)) and len(head) == HEAD_BYTES:
            found = RecordHead._make(_RECORD.unpack(head))
            end = offset + HEAD_BYTES + found.length
            if found.magic != _RECORD_MAGIC or end > size:
                break
            records.append(
                SegmentRecord(offset, found.length, found.url_id, found.fetched_at, found.digest)
            )
            offset = file.seek(end)
    return SegmentIndex(identity, records)


def own_segments(folder: Path, identity: str) -> Iterator[Path]:
    """Yield the segments in a folder that are this crawl's."""
    head = file_head(identity)
    for path in sorted(folder.glob(f"*{ENDING}")):
        if is_segment_name(path.stem) and not path.is_symlink():
            with path.open("rb") as file:
                is_own = file.read(len(head)) == head
            if is_own:
                yield path
