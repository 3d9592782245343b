"""Opening a crawl in a SQLite file, or in memory, to work on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from gossamer.coordinator.opening import IdleCrawl, IdleRequest, LedCrawl, OpenRequest, write
from gossamer.errors import UsageError
from gossamer.frontier.service import Frontier
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.stores.own_redis import is_own_redis
from gossamer.stores.ownership import (
    IDENTITY_NOTE,
    CrawlOwner,
    is_starting_over,
    new_identity,
    owner_of,
)
from gossamer.stores.sqlite import SqliteRows
from gossamer.stores.sqlite.file import check_own, read_saved_note


@asynccontextmanager
async def open_embedded_crawl(request: OpenRequest, *, in_memory: bool) -> AsyncIterator[LedCrawl]:
    """Open a crawl in a file, the given one or that of its directory, or in memory.

    The lock of its directory excludes other processes. The directory of a crawl in memory, if it
    has one, is for results only.
    """
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
        frontier = Frontier(rows, request.rules, request.clock())
        try:
            yield LedCrawl(
                frontier=frontier,
                rows=rows,
                address=request.address,
                where=str(directory.path),
                identity=owner.identity,
                clock=request.clock,
                worker_lock=directory.worker_lock,
            )
        finally:
            await frontier.close()


@asynccontextmanager
async def open_idle_sqlite_crawl(request: IdleRequest) -> AsyncIterator[IdleCrawl]:
    """Keep others from working on a crawl in a file."""
    with CrawlDirectory(request.directory) as directory:
        rows = SqliteRows(request.address.path or directory.database)
        try:
            yield IdleCrawl(rows)
        finally:
            rows.close()


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
    write(rows, metadata={IDENTITY_NOTE: owner.identity.encode()})
    return owner
