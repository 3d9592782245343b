"""The tables of a crawl, to be checked: those of its file, or a copy of a shared crawl.

A copy is a consistent snapshot, also while others work on the crawl, and nobody waits for it. It is
in a temporary database, and takes time in proportion to the number of URLs.
"""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.plan.stored_options import read_options
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.stores.reading import ReadRequest
from gossamer.stores.rows_reader import RowsReader
from gossamer.stores.sqlite.queries import read_note
from gossamer.stores.sqlite.reader import SqliteReader
from gossamer.views.stored_crawl import StoredCrawl, open_crawl

if TYPE_CHECKING:
    from gossamer.stores.redis.address import RedisAddress


class CrawlTables(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl whose tables can be read with SQL."""

    crawl: StoredCrawl
    reader: SqliteReader
    connection: sqlite3.Connection
    broken_indexes: Sequence[str] | None = None
    """Where the queues and counters of a shared store do not agree with its records; None: the
    crawl is not in a shared store."""


@asynccontextmanager
async def open_tables(request: ReadRequest) -> AsyncIterator[CrawlTables]:
    """Open the tables of a crawl; a crawl in a shared store is copied first."""
    async with open_crawl(request) as crawl:
        reader = crawl.reader
        if isinstance(reader, SqliteReader):
            yield CrawlTables(crawl=crawl, reader=reader, connection=reader.connection)
            return
        # Imported when it is needed: the Redis client takes a while to load.
        from gossamer.stores.redis.row_reads import RedisRowReads  # noqa: PLC0415

        assert isinstance(reader, RowsReader), "all crawls are read over their rows"
        assert isinstance(reader.rows, RedisRowReads), "no other kind of store is shared"
        address, name = reader.rows.address, reader.rows.crawl
        async with open_copied_tables(address, name, reader.directory) as tables:
            yield tables


@asynccontextmanager
async def open_copied_tables(
    address: "RedisAddress", crawl: str, directory: Path | None = None
) -> AsyncIterator[CrawlTables]:
    """Copy a crawl out of a Redis, and open the tables of the copy."""
    # Imported when it is needed: the Redis client takes a while to load.
    from gossamer.views.redis_copy import copy_crawl  # noqa: PLC0415

    with copy_crawl(address, crawl) as copy:
        closed = read_note(copy.connection, "closed") == b"yes"
        running = copy.is_led and not closed
        reader = SqliteReader(
            copy.connection, copy.where, directory, running=running, closed=closed
        )
        options = read_options(await reader.note(OPTIONS_NOTE), copy.where)
        yield CrawlTables(
            crawl=StoredCrawl(reader, options),
            reader=reader,
            connection=copy.connection,
            broken_indexes=copy.wrong,
        )
