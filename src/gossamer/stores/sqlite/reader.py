"""Reading a crawl in a file, as one consistent snapshot."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.errors import UsageError
from gossamer.stores.directory import DATABASE, find_crawl, is_locked
from gossamer.stores.reading import ReadRequest
from gossamer.stores.rows_reader import Presence, RowsReader
from gossamer.stores.sqlite.queries import read_note
from gossamer.stores.sqlite.readonly import reading
from gossamer.stores.sqlite.row_reads import SqliteRowReads


@asynccontextmanager
async def open_sqlite_reader(request: ReadRequest) -> AsyncIterator["SqliteReader"]:
    """Open the file of a crawl to read it; nobody is disturbed."""
    path = request.address.path
    directory = request.directory or (path.parent if path else find_crawl(None, Path()))
    where = path or directory
    file = path or directory / DATABASE
    if not file.is_file():
        raise UsageError(f"there is no crawl in {where}: 'gossamer crawls' lists those around here")
    with reading(file) as connection:
        closed, running = _status(connection, directory)
        if not closed and not running:
            # It was killed, or has ended since this snapshot. A process closes its crawl before it
            # lets go of the lock, so a new snapshot tells which.
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            closed, running = _status(connection, directory)
        yield SqliteReader(connection, str(where), directory, running=running, closed=closed)


def _status(connection: sqlite3.Connection, directory: Path) -> tuple[bool, bool]:
    """Return whether the crawl was closed, and whether a process works on it."""
    closed = read_note(connection, "closed") == b"yes"
    return closed, not closed and is_locked(directory)


class SqliteReader(RowsReader):
    """Reads the tables of a crawl, over a connection that is in a transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: str,
        directory: Path | None,
        *,
        running: bool,
        closed: bool,
    ) -> None:
        """Take the connection, and whether a process works on the crawl or has ended in order."""
        presence = Presence(running=running, closed=closed)
        rows = SqliteRowReads(connection, Path(where))
        super().__init__(rows, lambda: presence, where=where, directory=directory)
        self.connection = connection
        self.running = running
