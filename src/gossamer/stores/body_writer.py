"""The writer of bodies, one for each process of workers, and the upkeep of what it has written.

What is appended to a segment is given to the operating system at once, before any store refers to
it: so it survives the process. It is flushed to the disk every second, beside the work: a loss of
power costs the bodies of the last seconds. A process that dies while it writes leaves a torn record
at the end, to which nothing refers. A segment that is finished has an index beside it.
"""

import asyncio
import contextlib
import fcntl
import math
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol

import msgspec
import xxhash

from gossamer.model.errors import CrawlError, GossamerError, UsageError
from gossamer.stores.bodies import (
    ENDING,
    INDEX_ENDING,
    RECORD,
    RECORD_MAGIC,
    SPOOL,
    BodyPlace,
    BodyReference,
    RecordHead,
    is_segment_name,
)
from gossamer.stores.files import CrawlOwner, ResultDirectory, owner_of, write_file
from gossamer.stores.object_store import NoObjectError, ObjectMark, ObjectStore

SEGMENT_BYTES: Final = 64_000_000
"""How large a segment gets, and then there is another."""
SYNC_EVERY_S: Final = 1.0
SLACK_S: Final = 60.0
"""How much longer than its last page a segment lives: clocks differ, and somebody may read it."""
OWNER_ATTRIBUTE: Final = "gossamer-bodies"
OWNER_OBJECT: Final = "gossamer-crawl"
LOCK: Final = ".bodies.lock"
_MAGIC: Final = b"gossamer bodies 2\n"


class WriterRules(msgspec.Struct, frozen=True, kw_only=True):
    """How segments are written."""

    identity: str
    """Of the crawl."""
    worker: int = 0
    keep_s: float
    """How long bodies are kept: a segment takes pages for no longer, so that it can expire."""
    segment_bytes: int = SEGMENT_BYTES


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


class _RunningSegment:
    """The segment that is appended to; its lock says that somebody does."""

    def __init__(self, path: Path, identity: str, fetched_at: float) -> None:
        self.path = path
        self._identity = identity
        self.since, self.newest = fetched_at, fetched_at
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o666)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size = os.write(self._descriptor, _file_head(identity))

    def append(self, content: bytes, url_id: int, fetched_at: float, digest: bytes) -> bytes:
        """Write a record; return the reference to it, packed."""
        checksum = xxhash.xxh3_64_intdigest(content)
        head = RecordHead(RECORD_MAGIC, len(content), url_id, fetched_at, digest, checksum)
        offset, length = self.size, RECORD.size + len(content)
        if os.writev(self._descriptor, (RECORD.pack(*head), content)) != length:
            raise OSError(0, "the disk is full, or a limit was reached")
        self.size += length
        self.newest = max(self.newest, fetched_at)
        return BodyReference(self.path.stem, offset, len(content), checksum).pack()

    def sync(self) -> None:
        """Flush it to the disk."""
        os.fdatasync(self._descriptor)

    def finish(self) -> None:
        """Write the index, and let go of the segment."""
        self.sync()
        SegmentIndex(self._identity, self.size, self.newest).write(self.path)
        os.close(self._descriptor)


class BodyWriter(Protocol):
    """Where a process writes the bodies of its pages, each before it is settled."""

    async def write(
        self, content: bytes, url_id: int, lease: int, fetched_at: float, digest: bytes
    ) -> bytes:
        """Write the content of a page; return a reference, or the content if that is settled."""

    def discard(self, stored: bytes) -> None:
        """Note that a reference is not kept: its page repeats another, or its lease is lost."""


class SegmentWriter:
    """Appends bodies to segments in a folder."""

    def __init__(
        self, folder: Path, rules: WriterRules, on_finished: Callable[[], None] = lambda: None
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
            reference = segment.append(content, url_id, fetched_at, digest)
        except OSError as error:
            self._failure = error  # a record may be torn: nothing is appended behind it
            raise CrawlError(
                f"cannot write a body into {self._folder}: {error.strerror}; make room there, and "
                "`gossamer resume` continues"
            ) from error
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync(segment))
        return reference

    async def write(
        self, content: bytes, url_id: int, lease: int, fetched_at: float, digest: bytes
    ) -> bytes:
        """Do the same: see `BodyWriter`."""
        return self.append(content, url_id, fetched_at, digest)

    def discard(self, stored: bytes) -> None:
        """Do nothing: it stays a record that nobody refers to."""

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
        segment, rules = self._running, self._rules
        if segment is not None:
            is_old = fetched_at - segment.since >= rules.keep_s
            if not is_old and segment.size < rules.segment_bytes:
                return segment
            self._roll()
        self._count += 1
        path = self._folder / f"{self._word}-{self._count}{ENDING}"
        self._running = _RunningSegment(path, rules.identity, fetched_at)
        return self._running

    def _roll(self) -> None:
        segment, self._running = self._running, None
        if segment is not None:
            finishing = asyncio.create_task(self._finish(segment))
            self._finishing.add(finishing)
            finishing.add_done_callback(self._finishing.discard)

    async def _finish(self, segment: _RunningSegment) -> None:
        try:
            await asyncio.to_thread(segment.finish)
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


def take_folder(place: BodyPlace, owner: CrawlOwner, directory: Path, *, first: bool) -> Path:
    """Return the folder for segments, for a process with that directory; UsageError if not ours.

    The first process of a crawl, its coordinator, marks it. Workers may be on other machines: where
    the mark is missing, it is not the same storage.
    """
    if place.bucket:
        return ResultDirectory(directory, owner).claim_folder(SPOOL)
    folder = Path(place.folder)
    marked = owner_of(folder)
    is_own = marked is not None and marked.identity == owner.identity
    if not first and not is_own:
        raise UsageError(
            f"{place} is not the directory of this crawl's bodies here: it must be storage that "
            "all machines share, mounted at the same path; or use s3://"
        )
    if marked is not None and not is_own:
        raise UsageError(
            f"{place} holds the bodies of another crawl, {marked.name}: name another directory "
            "with --bodies, or move this one away"
        )
    if first:
        ResultDirectory(folder, owner).mark()
    return folder


class SegmentUpkeep:
    """Finishes, uploads and removes the segments of a crawl, in a folder and in an object store."""

    def __init__(self, place: BodyPlace, folder: Path, identity: str) -> None:
        self._folder = folder
        self._identity = identity
        self._newest: dict[str, float] = {}
        """When the last page of each uploaded segment was fetched."""
        self._key = ""
        self._objects: ObjectStore | None = None
        if (address := place.address) is not None:
            self._key = f"{address.key}/"
            self._objects = ObjectStore(address.bucket, ObjectMark(OWNER_ATTRIBUTE, identity))

    def claim_prefix(self) -> None:
        """Mark the folder in the object store; UsageError if it is another crawl's, or not there.

        Before the crawl, as the first segment may be full after days.
        """
        if self._objects is not None:
            self._objects.put_own(self._key + OWNER_OBJECT, self._identity.encode())

    def finish_left(self) -> None:
        """Write the index of segments whose writers have died, and upload what is finished."""
        with self._alone():
            for segment in self._segments():
                is_finished = segment.with_suffix(INDEX_ENDING).exists()
                if not is_finished and not _is_written(segment):
                    _scan(segment, self._identity).write(segment)
        self.upload()

    def upload(self) -> None:
        """Bring finished segments to the object store; they are here until they are there."""
        if self._objects is None:
            return
        with self._alone():
            for segment in self._segments():
                index = segment.with_suffix(INDEX_ENDING)
                if index.exists():
                    for file in (segment, index):
                        self._objects.put_own(self._key + file.name, file)
                    index.unlink()
                    segment.unlink()

    def expire(self, now: float, keep_s: float) -> None:
        """Remove the finished segments whose pages have all expired."""
        before = now - keep_s - SLACK_S
        if math.isinf(before):
            return
        for segment in self._segments():
            with contextlib.suppress(FileNotFoundError):
                index = read_index(segment.with_suffix(INDEX_ENDING).read_bytes())
                if index is not None and index.newest <= before:
                    _remove(segment)
        self._delete_uploaded(before)

    def clear(self) -> None:
        """Remove all segments of this crawl, which starts over."""
        for segment in self._segments():
            _remove(segment)
        self._delete_uploaded(math.inf)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold off other processes of this crawl that would do the same in the folder."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(self._folder / LOCK, flags, 0o666), "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _segments(self) -> Iterator[Path]:
        """Yield the segments in the folder that are this crawl's."""
        head = _file_head(self._identity)
        for path in sorted(self._folder.glob(f"*{ENDING}")):
            if is_segment_name(path.stem) and not path.is_symlink():
                with path.open("rb") as file:
                    is_own = file.read(len(head)) == head
                if is_own:
                    yield path

    def _delete_uploaded(self, before: float) -> None:
        """Delete the segments of this crawl in the object store whose last page is as old."""
        if self._objects is None:
            return
        for key in self._objects.keys(self._key):
            name = key.rpartition("/")[2].removesuffix(INDEX_ENDING)
            if not key.endswith(INDEX_ENDING) or not is_segment_name(name):
                continue
            if name not in self._newest:
                with contextlib.suppress(NoObjectError):
                    index = read_index(self._objects.read(key))
                    if index is not None and index.identity == self._identity:
                        self._newest[name] = index.newest
            if self._newest.get(name, math.inf) <= before and name in self._newest:
                self._objects.delete(self._key + name + ENDING)
                self._objects.delete(key)  # last: it says whose the segment is
                del self._newest[name]


def _file_head(identity: str) -> bytes:
    """Return the first bytes of a segment."""
    return _MAGIC + identity.encode() + b"\n"


def _scan(segment: Path, identity: str) -> SegmentIndex:
    """Return the index of a segment of this crawl, made from its whole records."""
    with segment.open("rb") as file:
        end, newest, size = file.seek(len(_file_head(identity))), 0.0, segment.stat().st_size
        while len(packed := file.read(RECORD.size)) == RECORD.size:
            head = RecordHead._make(RECORD.unpack(packed))
            behind = file.seek(head.length, os.SEEK_CUR)
            if head.magic != RECORD_MAGIC or behind > size:
                break
            end, newest = behind, max(newest, head.fetched_at)
    return SegmentIndex(identity, end, newest)


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
