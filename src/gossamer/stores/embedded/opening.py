"""Opens a crawl of the embedded store, in memory or in a file of its directory."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count

import msgspec

from gossamer.errors import UsageError
from gossamer.stores.embedded.directory import CrawlDirectory
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.stores.opening import OPTIONS_NOTE, OpenRequest


class EmbeddedCrawl(msgspec.Struct, frozen=True):
    """An opened crawl; the lock of its directory excludes other processes."""

    store: EmbeddedStore
    where: str
    numbers: Iterator[int]
    worker_lock: int | None = None
    leadership: None = None

    @property
    def local_store(self) -> EmbeddedStore:
        """The store: workers reach it through this process."""
        return self.store

    async def new_worker(self) -> int:
        """Return a number for a worker, counted from 0."""
        return next(self.numbers)

    async def keep(self) -> None:
        """Do nothing: the lock is held until the crawl is closed."""


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
        if path and request.fresh:
            directory.clear(path)
        backend = SqliteBackend(path)
        try:
            if (note := backend.get(OPTIONS_NOTE)) is not None:
                request.check(note)
        except BaseException:
            backend.close()
            raise
        store = EmbeddedStore(backend, request.rules, request.clock())
        try:
            yield EmbeddedCrawl(store, str(directory.path), count(), directory.worker_lock)
        finally:
            await store.close()


def no_memory_reader(*_: object, **__: object) -> object:
    """Refuse: no other process can read the memory of a crawl."""
    raise UsageError(
        "a crawl in memory cannot be read by another process: use a sqlite: or redis:// store"
    )
