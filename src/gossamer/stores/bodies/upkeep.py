"""The upkeep of segments: finishing those of workers that died, uploading, and expiry."""

import contextlib
import fcntl
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gossamer.errors import UsageError
from gossamer.stores.bodies.place import SPOOL, BodyPlace
from gossamer.stores.bodies.segment import (
    ENDING,
    INDEX_ENDING,
    is_segment_name,
    own_segments,
    read_index,
    scan,
)
from gossamer.stores.object_store import NoObjectError, ObjectMark, ObjectStore
from gossamer.stores.ownership import CrawlOwner, ResultDirectory, owner_of

SLACK_S: Final = 60.0
"""How much longer than its last page a segment lives: clocks differ, and somebody may read it."""
OWNER_ATTRIBUTE: Final = "gossamer-bodies"
OWNER_OBJECT: Final = "gossamer-crawl"
LOCK: Final = ".bodies.lock"


def take_folder(place: BodyPlace, owner: CrawlOwner, directory: Path, *, first: bool) -> Path:
    """Return the folder for segments, for a process with that directory; UsageError if not ours.

    The first process of a crawl, its coordinator, marks it. Workers may be on other machines: where
    the mark is missing, it is not the same storage.
    """
    if place.bucket:
        return ResultDirectory(directory, owner).claim_folder(SPOOL)
    found = owner_of(place.path)
    is_own = found is not None and found.identity == owner.identity
    if not first and not is_own:
        raise UsageError(
            f"{place} is not the directory of this crawl's bodies here: it must be storage that "
            "all machines share, mounted at the same path; or use s3://"
        )
    if found is not None and not is_own:
        raise UsageError(
            f"{place} holds the bodies of another crawl, {found.name}: name another directory "
            "with --bodies, or move this one away"
        )
    if first:
        ResultDirectory(place.path, owner).mark()
    return place.path


class SegmentUpkeep:
    """Keeps the segments of a crawl in order, in a folder and in an object store."""

    def __init__(self, place: BodyPlace, folder: Path, identity: str) -> None:
        self._folder = folder
        self._identity = identity
        self._address = place.address
        self._newest: dict[str, float] = {}
        """When the last page of each uploaded segment was fetched."""
        self._objects: ObjectStore | None = None
        if self._address is not None:
            mark = ObjectMark(OWNER_ATTRIBUTE, identity)
            self._objects = ObjectStore(self._address.bucket, mark)

    def claim_prefix(self) -> None:
        """Mark the folder in the object store; UsageError if it is another crawl's, or not there.

        Before the crawl, as the first segment may be full after days.
        """
        if self._objects is not None:
            key = self._key(OWNER_OBJECT)
            self._objects.refuse_foreign(key)
            self._objects.put(key, self._identity.encode())

    def finish_left(self) -> None:
        """Write the index of segments whose writers have died, and upload what is finished."""
        with self._alone():
            for segment in own_segments(self._folder, self._identity):
                is_finished = segment.with_suffix(INDEX_ENDING).exists()
                if not is_finished and not _is_written(segment) and (index := scan(segment)):
                    index.write(segment)
        self.upload()

    def upload(self) -> None:
        """Bring finished segments to the object store; they are here until they are there."""
        if self._objects is None:
            return
        with self._alone():
            for segment in own_segments(self._folder, self._identity):
                index = segment.with_suffix(INDEX_ENDING)
                if index.exists():
                    for file in (segment, index):
                        self._objects.refuse_foreign(self._key(file.name))
                        self._objects.put(self._key(file.name), file)
                    for file in (index, segment):
                        file.unlink()

    def expire(self, now: float, keep_s: float) -> None:
        """Remove the finished segments whose pages have all expired."""
        before = now - keep_s - SLACK_S
        if math.isinf(before):
            return
        for segment in own_segments(self._folder, self._identity):
            with contextlib.suppress(FileNotFoundError):
                index = read_index(segment.with_suffix(INDEX_ENDING).read_bytes())
                if index is not None and index.newest <= before:
                    _remove(segment)
        for name, newest in list(self._uploaded()):
            if newest <= before:
                self._delete(name)

    def clear(self) -> None:
        """Remove all segments of this crawl, which starts over."""
        for segment in own_segments(self._folder, self._identity):
            _remove(segment)
        for name, _ in list(self._uploaded()):
            self._delete(name)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes of this crawl from doing the same in the folder meanwhile."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(self._folder / LOCK, flags, 0o666), "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _uploaded(self) -> Iterator[tuple[str, float]]:
        """Yield the segments of this crawl in the object store, with the age of their last page."""
        if self._objects is None or self._address is None:
            return
        for key in self._objects.keys(f"{self._address.key}/"):
            name = key.rpartition("/")[2].removesuffix(INDEX_ENDING)
            if key.endswith(INDEX_ENDING) and is_segment_name(name):
                if name not in self._newest:
                    with contextlib.suppress(NoObjectError):
                        index = read_index(self._objects.read(key))
                        if index is not None and index.identity == self._identity:
                            self._newest[name] = index.newest
                if name in self._newest:
                    yield name, self._newest[name]

    def _delete(self, name: str) -> None:
        assert self._objects is not None
        for ending in (ENDING, INDEX_ENDING):  # the index last: it says whose the segment is
            self._objects.delete(self._key(name + ending))
        self._newest.pop(name, None)

    def _key(self, name: str) -> str:
        assert self._address is not None
        return f"{self._address.key}/{name}"


def _remove(segment: Path) -> None:
    segment.unlink(missing_ok=True)
    segment.with_suffix(INDEX_ENDING).unlink(missing_ok=True)


def _is_written(segment: Path) -> bool:
    """Tell whether a process appends to a segment."""
    with segment.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
