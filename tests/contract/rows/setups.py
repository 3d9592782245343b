"""The databases that the tests of rows run with: each holds one crawl, and can be opened again."""

import sqlite3
from pathlib import Path
from typing import Protocol

from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.row_reads import ReadableRedisRows
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import ReadableRows, Rows
from gossamer.stores.sqlite.rows import ReadableSqliteRows, SqliteRows


class RowsSetup(Protocol):
    """A crawl in a database."""

    sees_the_uncommitted: bool
    """Whoever writes rows reads them also before they are durable."""

    def open(self) -> Rows:
        """Open it, new or as it was left, after letting go of it if it was open."""

    def open_to_read(self) -> ReadableRows:
        """Return the rows as another process reads them, who lets go of them."""

    def close(self) -> None:
        """Let go of it for good."""


class RedisRowsSetup:
    """A crawl in Redis."""

    sees_the_uncommitted = True

    def __init__(self, url: str, crawl: str) -> None:
        self._address = parse_address(url)
        self._crawl = crawl
        self._rows: RedisRows | None = None

    def open(self) -> RedisRows:
        self.close()
        self._rows = rows = RedisRows(self._address, self._crawl)
        rows.take_lead()
        return rows

    def open_to_read(self) -> ReadableRows:
        reads = ReadableRedisRows(self._address, self._crawl)
        reads.open()
        return reads

    def close(self) -> None:
        if self._rows is not None:
            self._rows.lead.resign()
            self._rows.close()
            self._rows = None


class SqliteRowsSetup:
    """A crawl in a file."""

    sees_the_uncommitted = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: SqliteRows | None = None

    def open(self) -> SqliteRows:
        self.close()
        self._rows = SqliteRows(self._path)
        return self._rows

    def open_to_read(self) -> ReadableRows:
        connection = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)
        return ReadableSqliteRows(connection, self._path)

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None
