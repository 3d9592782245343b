"""Opens a crawl of the embedded store, in memory or in a file of its directory."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.embedded.directory import CrawlDirectory
from gossamer.stores.embedded.sqlite import SqliteRows
from gossamer.stores.embedded.sqlite.file import check_own, read_saved_note
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.stores.opening import OPTIONS_NOTE, IdleRequest, OpenRequest
from gossamer.stores.own_redis.folder import is_own_redis
from gossamer.stores.ownership import (
    IDENTITY_NOTE,
    CrawlOwner,
    is_starting_over,
    new_identity,
    owner_of,
)
from gossamer.stores.process_message import ProcessMessage
from gossamer.stores.results import ReplayedPage, pack_records
from gossamer.stores.rows import Changes, ResultRow
from gossamer.stores.rows_reader import Presence, RowsReader, explained


class EmbeddedCrawl(msgspec.Struct, frozen=True):
    """An opened crawl; the lock of its directory excludes other processes."""

    store: EmbeddedStore
    rows: SqliteRows
    address: StoreAddress
    where: str
    identity: str
    numbers: Iterator[int]
    worker_lock: int | None = None
    leadership: None = None

    @property
    def local_store(self) -> EmbeddedStore:
        """The store: workers reach it through this process."""
        return self.store

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[RowsReader]:
        """Open the crawl to read it, as it is now."""
        await self.store.written()
        presence = Presence(running=True, closed=False)
        with explained(self.rows, self.where):
            yield RowsReader(self.rows, lambda: presence, where=self.where)

    async def new_worker(self) -> int:
        """Return a number for a worker, counted from 0."""
        return next(self.numbers)

    async def keep(self) -> None:
        """Do nothing: the lock is held until the crawl is closed."""

    async def messages(self) -> list[ProcessMessage]:
        """Return nothing: nobody joins it."""
        return []


def open_memory_crawl(request: OpenRequest) -> AbstractAsyncContextManager[EmbeddedCrawl]:
    """Open a crawl in memory; its directory, if it has one, is for results only."""
    return _opened(request, in_memory=True)


def open_sqlite_crawl(request: OpenRequest) -> AbstractAsyncContextManager[EmbeddedCrawl]:
    """Open a crawl in a file: the given one, or that of its directory."""
    return _opened(request, in_memory=False)


@asynccontextmanager
async def _opened(request: OpenRequest, *, in_memory: bool) -> AsyncIterator[EmbeddedCrawl]:
    with CrawlDirectory(request.directory) as directory:
        path = None if in_memory else request.address.path or directory.database
        if path and is_own_redis(directory.path) and request.directory is not None:
            raise UsageError(
                f"{directory.path} holds a crawl in a Redis of its own: add --store redis:, or "
                "name another directory with --dir"
            )
        owner = CrawlOwner(_identity(path, directory), request.name)
        if path is None or request.fresh or not path.exists():
            directory.check_owner(owner)  # before a file is made, or removed
        if path and request.fresh:
            directory.start_over(path, owner)
        rows = SqliteRows(path)
        try:
            notes = rows.metadata()
            if (note := notes.get(OPTIONS_NOTE)) is not None:
                request.check(note)
            owner = _noted(owner, rows, notes.get(IDENTITY_NOTE))
            directory.mark(owner)
        except BaseException:
            rows.close()
            raise
        store = EmbeddedStore(rows, request.rules, request.clock())
        try:
            where, lock = str(directory.path), directory.worker_lock
            yield EmbeddedCrawl(store, rows, request.address, where, owner.identity, count(), lock)
        finally:
            await store.close()


class IdleSqliteCrawl:
    """A crawl in a file that nobody works on; the lock of its directory excludes others."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: SqliteRows | None = None
        self._last_result = 0

    async def keep(self) -> None:
        """Do nothing: the lock is held until the crawl is closed."""

    async def add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        """Append records to the log of results, and store the note."""
        if self._rows is None:
            self._rows = SqliteRows(self._path)
            self._last_result = self._rows.last_result()
        rows, changes = self._rows, Changes()
        changes.metadata[replayed.note] = replayed.progress
        try:
            if replayed.records:
                page = rows.read_page(replayed.page_id)
                assert page is not None
                self._last_result += 1
                packed = pack_records(replayed.records)
                result = ResultRow(self._last_result, page.url, None, now, packed, None)
                changes.results.append(result)
            if (finish := rows.write(changes)) is not None:
                finish()
        except rows.errors as error:
            raise CrawlError(rows.complaint(error)) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._rows is not None:
            self._rows.close()


@asynccontextmanager
async def open_idle_sqlite_crawl(request: IdleRequest) -> AsyncIterator[IdleSqliteCrawl]:
    """Keep others from working on a crawl in a file."""
    with CrawlDirectory(request.directory) as directory:
        crawl = IdleSqliteCrawl(request.address.path or directory.database)
        try:
            yield crawl
        finally:
            crawl.close()


def _identity(path: Path | None, directory: CrawlDirectory) -> str:
    """Return that of the crawl in the file, which it keeps when it starts over, or a new one.

    A loss of power may take it from the file of a crawl that has just begun: then its directory,
    which was marked afterwards, still has it.
    """
    if path is None:
        return new_identity()
    check_own(path)
    if (known := read_saved_note(path, IDENTITY_NOTE)) is not None:
        return known.decode()
    has_file = path == directory.database and path.exists() and path.stat().st_size > 0
    owner = owner_of(directory.path) if has_file or is_starting_over(directory.path) else None
    return new_identity() if owner is None else owner.identity


def _noted(owner: CrawlOwner, rows: SqliteRows, known: bytes | None) -> CrawlOwner:
    """Return the owner as the store has it from now on: durable, before anything is marked."""
    if known is not None:
        return msgspec.structs.replace(owner, identity=known.decode())
    changes = Changes()
    changes.metadata[IDENTITY_NOTE] = owner.identity.encode()
    if (finish := rows.write(changes)) is not None:
        finish()
    return owner


def no_memory_reader(*_: object, **__: object) -> object:
    """Refuse: no other process can read the memory of a crawl."""
    raise UsageError(
        "a crawl in memory cannot be read by another process: use a sqlite: or redis:// store"
    )
