"""The writer of bodies: one for each process of workers, with segments of its own.

What is appended is given to the operating system at once, before any store refers to it: so it
survives the process. It is flushed to the disk every second, beside the work: a loss of power costs
the bodies of the last seconds.
"""

import asyncio
import contextlib
import fcntl
import math
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import CrawlError, GossamerError, UsageError
from gossamer.stores.bodies import (
    ENDING,
    INDEX_ENDING,
    MARK,
    SPOOL,
    BodyPlace,
    BodyReference,
    SegmentIndex,
    file_head,
    is_segment_name,
    make_record,
    own_segments,
    read_index,
    scan,
)
from gossamer.stores.files import CrawlOwner, ResultDirectory, owner_of
from gossamer.stores.object_store import NoObjectError, ObjectMark, ObjectStore

SEGMENT_BYTES: Final = 64_000_000
"""How large a segment gets, and then there is another."""
SYNC_EVERY_S: Final = 1.0


class WriterRules(msgspec.Struct, frozen=True, kw_only=True):
    """How segments are written."""

    identity: str
    """Of the crawl."""
    worker: int = 0
    keep_s: float
    """How long bodies are kept: a segment takes pages for no longer, so that it can expire."""
    segment_bytes: int = SEGMENT_BYTES


class _RunningSegment:
    """The segment that is appended to; its lock says that somebody does."""

    def __init__(self, folder: Path, name: str, identity: str, fetched_at: float) -> None:
        self.path = folder / f"{name}{ENDING}"
        self.since, self.newest = fetched_at, fetched_at
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self.path, flags, 0o666)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size = os.write(self._descriptor, file_head(identity))

    def append(self, parts: tuple[bytes, bytes]) -> int:
        """Write a record; return where it begins."""
        offset, length = self.size, len(parts[0]) + len(parts[1])
        if os.writev(self._descriptor, parts) != length:
            raise OSError(0, "the disk is full, or a limit was reached")
        self.size += length
        return offset

    def sync(self) -> None:
        """Flush it to the disk."""
        os.fdatasync(self._descriptor)

    def finish(self, identity: str) -> None:
        """Write the index, and let go of the segment."""
        self.sync()
        SegmentIndex(identity, self.size, self.newest).write(self.path)
        os.close(self._descriptor)


class BodyWriter:
    """Appends bodies to segments in a folder."""

    def __init__(
        self, folder: Path, rules: WriterRules, on_finished: Callable[[], None] | None = None
    ) -> None:
        """Begin nothing yet: who keeps no page has no segment.

        `on_finished` is called in a thread when segments may be uploaded.
        """
        self._folder = folder
        self._rules = rules
        self._on_finished = on_finished
        self._word = f"{rules.worker}-{secrets.token_hex(6)}"
        self._count = 0
        self._running: _RunningSegment | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._finishing: set[asyncio.Task[None]] = set()
        self._failure: OSError | None = None
        self._upload_failure: GossamerError | None = None

    def append(self, content: bytes, url_id: int, fetched_at: float, digest: bytes) -> bytes:
        """Write the content of a page; return the reference to it, packed."""
        try:
            if self._failure is not None:
                raise self._failure
            segment = self._segment_for(fetched_at)
            head, checksum = make_record(content, url_id, fetched_at, digest)
            offset = segment.append((head, content))
        except OSError as error:
            self._failure = error  # a record may be torn: nothing is appended behind it
            raise CrawlError(
                f"cannot write a body into {self._folder}: {error.strerror}; make room there, and "
                "`gossamer resume` continues"
            ) from error
        segment.newest = max(segment.newest, fetched_at)
        if self._syncing is None:
            self._syncing = asyncio.get_running_loop().create_task(self._sync(segment))
        return BodyReference(segment.path.stem, offset, len(content), checksum).pack()

    @staticmethod
    def has_written(stored: bytes) -> bool:
        """Tell whether this is a reference already."""
        return stored.startswith(MARK)

    async def close(self) -> None:
        """Finish the segment; CrawlError if it cannot be uploaded: the next start tries again."""
        if self._syncing is not None:
            self._syncing.cancel()
            await asyncio.gather(self._syncing, return_exceptions=True)
        self._roll()
        await asyncio.gather(*self._finishing)
        if self._upload_failure is not None:
            raise self._upload_failure

    def _segment_for(self, fetched_at: float) -> _RunningSegment:
        segment = self._running
        if segment is not None:
            is_old = fetched_at - segment.since >= self._rules.keep_s
            if is_old or segment.size >= self._rules.segment_bytes:
                self._roll()
                segment = None
        if segment is None:
            self._count += 1
            name = f"{self._word}-{self._count}"
            identity = self._rules.identity
            segment = self._running = _RunningSegment(self._folder, name, identity, fetched_at)
        return segment

    def _roll(self) -> None:
        segment, self._running = self._running, None
        if segment is not None:
            finishing = asyncio.get_running_loop().create_task(self._finish(segment))
            self._finishing.add(finishing)
            finishing.add_done_callback(self._finishing.discard)

    async def _finish(self, segment: _RunningSegment) -> None:
        try:
            await asyncio.to_thread(segment.finish, self._rules.identity)
            if self._on_finished is not None:
                await asyncio.to_thread(self._on_finished)
            self._upload_failure = None
        except OSError as error:
            self._failure = error
        except GossamerError as error:
            self._upload_failure = error  # the next segment takes this one along

    async def _sync(self, segment: _RunningSegment) -> None:
        """Flush what was appended, a second after the first of it."""
        await asyncio.sleep(SYNC_EVERY_S)
        self._syncing = None
        if segment is self._running:  # else it was flushed at its end
            try:
                await asyncio.to_thread(segment.sync)
            except OSError as error:
                self._failure = error


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
