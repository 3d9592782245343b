"""The reader of bodies: gives the content of a page, whether a store has it or a segment."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from gossamer.codings import CodingError
from gossamer.stores.bodies.place import BODIES_NOTE, BodyPlace, read_place
from gossamer.stores.bodies.segment import (
    ENDING,
    HEAD_BYTES,
    MARK,
    BodyReference,
    content_of,
    is_segment_name,
)
from gossamer.stores.object_store import NoObjectError, ObjectStore


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
