"""The writer of bodies: one for each process of workers, with segments of its own.

What is appended is given to the operating system at once, before any store refers to it: so it
survives the process. It is flushed to the disk every second, beside the work: a loss of power costs
the bodies of the last seconds.
"""

import asyncio
import fcntl
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from gossamer.errors import CrawlError, GossamerError
from gossamer.stores.bodies.segment import (
    ENDING,
    MARK,
    BodyReference,
    SegmentIndex,
    file_head,
    make_record,
)

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
