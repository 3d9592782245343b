"""Read-only access to the file of a crawl.

A running crawl writes to its file ten times a second. A reader sees a consistent snapshot, and
neither waits for the other (WAL). After a crash the log of the dead process is read as well, also
without writing.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.sqlite.file import check_version

TABLES = ("attempts", "contents", "hosts", "notes", "pages", "results", "urls")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection that sees a consistent snapshot; `CrawlError` if it cannot be read."""
    try:
        connection = _connected(path)
        try:
            check_version(connection, path)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise CrawlError(f"cannot read {path}: {error}") from error
    except msgspec.DecodeError as error:
        raise CrawlError(
            f"{path} is damaged: {error}; run 'gossamer verify' for everything that is wrong"
        ) from error


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return _begun(path)
    except sqlite3.OperationalError as error:
        # Beside a file in WAL mode SQLite needs an index of the log. Where it may not create one,
        # the file alone is read, if there is no log with further changes.
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise sqlite3.OperationalError(
                f"{error}; SQLite cannot read its log without writing to the directory: copy the "
                "directory to where you may write"
            ) from error
        return _begun(path, "&immutable=1")


def _begun(path: Path, more: str = "") -> sqlite3.Connection:
    """Open the file and begin the transaction for reading; its first query takes the snapshot."""
    address = f"{path.absolute().as_uri()}?mode=ro{more}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("BEGIN")
        marks = ",".join("?" * len(TABLES))
        there = connection.execute(
            f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ({marks})",  # noqa: S608 -- question marks
            TABLES,
        ).fetchone()
        if there != (len(TABLES),):
            raise sqlite3.DatabaseError("it is not the file of a crawl")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
