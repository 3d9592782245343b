"""Opens a crawl of the embedded store, in memory or in a file of its directory."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
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

    async def new_worker(self) -> int:
        """Return a number for a worker, counted from 0."""
        return next(self.numbers)

    async def keep(self) -> None:
        """Do nothing: the lock is held until the crawl is closed."""


@asynccontextmanager
async def open_memory_crawl(request: OpenRequest) -> AsyncIterator[EmbeddedCrawl]:
    """Open a crawl in memory; its directory, if it has one, is for results only."""
    with CrawlDirectory.at(request.directory) as directory:
        async with _opened(SqliteBackend(), request, directory) as crawl:
            yield crawl


@asynccontextmanager
async def open_sqlite_crawl(request: OpenRequest) -> AsyncIterator[EmbeddedCrawl]:
    """Open a crawl in a file: the given one, or that of its directory."""
    with CrawlDirectory.at(request.directory) as directory:
        path = request.address.path or directory.database
        if request.fresh:
            directory.clear(path)
        async with _opened(SqliteBackend(path), request, directory) as crawl:
            yield crawl


@asynccontextmanager
async def _opened(
    backend: SqliteBackend, request: OpenRequest, directory: CrawlDirectory
) -> AsyncIterator[EmbeddedCrawl]:
    note = backend.get(OPTIONS_NOTE)
    if note is not None:
        try:
            request.check(note)
        except BaseException:
            backend.close()
            raise
    store = EmbeddedStore(backend, request.rules, request.clock())
    try:
        yield EmbeddedCrawl(store, str(directory.path), count())
    finally:
        await store.close()


def no_memory_reader(*_: object, **__: object) -> object:
    """Refuse: no other process can read the memory of a crawl."""
    raise UsageError(
        "a crawl in memory cannot be read by another process: use a sqlite: or redis:// store"
    )
