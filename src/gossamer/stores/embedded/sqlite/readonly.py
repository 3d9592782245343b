"""Looking into the file of a crawl without touching it.

A running crawl writes to its file ten times a second. A reader opens it read-only and sees it as it
was at one moment: nobody waits for anybody (WAL). After a crash the log that the dead process left
is read with it; that too needs no writing.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.embedded.sqlite.file import check_version

TABLES = ("attempts", "contents", "hosts", "notes", "pages", "urls")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that sees the file as it is now; what cannot be read is a `CrawlError`."""
    try:
        connection = _connected(path)
        try:
            check_version(connection, path)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise CrawlError(f"cannot read {path}: {error}") from error
    except msgspec.ValidationError as error:
        raise CrawlError(
            f"{path} is damaged: {error}; 'gossamer verify' tells all that is wrong with it"
        ) from error


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return _at_one_moment(_opened(path))
    except sqlite3.OperationalError as error:
        # Beside a file in WAL mode SQLite needs an index of the log. Where it may not make one the
        # file alone must do, and does if no log with unread changes lies beside it.
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise sqlite3.OperationalError(
                f"{error}; it has a log, to read which SQLite must write beside it: copy the "
                "directory to where you may write"
            ) from error
        return _at_one_moment(_opened(path, "&immutable=1"))


def _opened(path: Path, more: str = "") -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{more}", uri=True)


def _at_one_moment(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Begin the transaction in which everything is read; its first query fixes the moment."""
    try:
        connection.isolation_level = None
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
