"""The tables of a crawl, to be checked: those of its file, or a copy of a shared crawl.

A copy is a consistent snapshot, also while others work on the crawl, and nobody waits for it. It is
in a temporary database, and takes time in proportion to the number of URLs.
"""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from gossamer.stores.embedded.sqlite.queries import read_note
from gossamer.stores.embedded.sqlite.reader import SqliteReader
from gossamer.stores.reading import ReadRequest
from gossamer.stores.rows_reader import RowsReader
from gossamer.views.stored_crawl import StoredCrawl, open_crawl


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
        if isinstance(crawl.reader, SqliteReader):
            connection = crawl.reader.connection
            yield CrawlTables(crawl=crawl, reader=crawl.reader, connection=connection)
            return
        # Imported when it is needed: the Redis client takes a while to load.
        from gossamer.stores.redis.row_reads import RedisRowReads  # noqa: PLC0415
        from gossamer.views.crawl_copy import copy_crawl  # noqa: PLC0415

        reader = crawl.reader
        assert isinstance(reader, RowsReader), "whatever is stored is read over its rows"
        assert isinstance(reader.rows, RedisRowReads), "no other store is shared"
        with copy_crawl(reader.rows.address, reader.rows.crawl) as copy:
            closed = read_note(copy.connection, "closed") == b"yes"
            running = copy.is_led and not closed
            copied = SqliteReader(
                copy.connection, reader.where, reader.directory, running=running, closed=closed
            )
            yield CrawlTables(
                crawl=msgspec.structs.replace(crawl, reader=copied),
                reader=copied,
                connection=copy.connection,
                broken_indexes=copy.broken_indexes,
            )
