"""A copy of a crawl in Redis whose rules are in Lua, in the tables of a temporary database."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.errors import CrawlError
from gossamer.stores.counting import COUNTS_NAME, count_rows, pack_counts
from gossamer.stores.embedded.sqlite.file import make_tables
from gossamer.stores.embedded.sqlite.reader import SqliteReader
from gossamer.stores.embedded.sqlite.row_reads import SqliteRowReads
from gossamer.stores.redis.reader import RedisReader
from gossamer.transfer.check_indexes import check_indexes
from gossamer.transfer.export import export
from gossamer.views.stored_crawl import StoredCrawl


@asynccontextmanager
async def copy_lua_crawl(crawl: StoredCrawl) -> AsyncIterator[tuple[SqliteReader, list[str]]]:
    """Copy a crawl; give the copy, and what is wrong with the queues and counters of the store."""
    source = crawl.reader
    assert isinstance(source, RedisReader), "no other kind of store is shared"
    connection = sqlite3.connect("", isolation_level=None)
    try:
        make_tables(connection)
        connection.execute("BEGIN")
        copied = await export(source.crawl, source.rules, connection)
        # Hosts may be a little newer than the moment, so their sum says nothing.
        connection.execute(
            "UPDATE hosts SET received = CASE id WHEN (SELECT min(id) FROM hosts) THEN "
            "(SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM notes WHERE name = 'received') "
            "ELSE 0 END"
        )
        counts = count_rows(SqliteRowReads(connection, Path(source.where)))
        connection.execute("INSERT INTO notes VALUES (?, ?)", (COUNTS_NAME, pack_counts(counts)))
        reader = SqliteReader(
            connection,
            where=source.where,
            directory=source.directory,
            running=copied.running,
            closed=copied.closed,
        )
        yield reader, await check_indexes(source.crawl, connection, copied)
    except sqlite3.Error as error:
        raise CrawlError(f"cannot copy {source.where}: {error}") from error
    finally:
        connection.close()
