"""The reader of bodies: gives the content of a page, whether a store has it or a segment."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from gossamer.download.body import CodingError
from gossamer.model.errors import UsageError
from gossamer.stores.bodies.segment import (
    ENDING,
    HEAD_BYTES,
    MARK,
    BodyReference,
    content_of,
    is_segment_name,
)
from gossamer.stores.files import owner_of
from gossamer.stores.object_store import (
    S3_SCHEME,
    NoObjectError,
    ObjectStore,
    S3Address,
    parse_s3_address,
)
from gossamer.stores.rows import read_note

BODIES_NOTE: Final = "bodies"
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
            place = read_place(await self._note(BODIES_NOTE))
            self._segments = SegmentReader(place or BodyPlace(os.devnull))
        return self._segments
