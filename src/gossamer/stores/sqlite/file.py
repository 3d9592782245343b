"""The SQLite file of a crawl: created, or opened and checked."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.counting import WITHOUT_CAUSE, Reason

_REASONS = """
    SELECT urls.outcome, cause, status FROM urls
    JOIN attempts ON attempts.rowid = (SELECT max(rowid) FROM attempts WHERE url = urls.id)
"""
"""Why finished URLs have ended: their outcomes, with cause and status of the last attempt."""
_WITHOUT_CAUSE = (
    f"(urls.outcome IN {tuple(map(str, sorted(WITHOUT_CAUSE)))} "
    "OR urls.outcome = 'fetched' AND urls.detail IS NULL)"
)
"""What surely has no cause, so that its last attempt, one of many, need not be found."""
COUNT_REASONS = f"""
    SELECT outcome, NULL AS cause, NULL AS status, count(*) AS urls FROM urls
    WHERE state = 4 AND {_WITHOUT_CAUSE} GROUP BY outcome
    UNION ALL SELECT *, count(*) FROM (
        {_REASONS} WHERE state = 4 AND NOT {_WITHOUT_CAUSE}
    ) GROUP BY outcome, cause, status
"""  # noqa: S608 -- our own words
"""How many URLs are finished, by the reason."""


def read_metadata(db: sqlite3.Connection, name: str) -> bytes | None:
    """Return a note."""
    found = db.execute("SELECT CAST(value AS BLOB) FROM notes WHERE name = ?", (name,)).fetchone()
    return None if found is None else bytes(found[0])


def read_reasons(db: sqlite3.Connection) -> dict[Reason, int]:
    """Count how many URLs are finished, by the reason."""
    found: Counter[Reason] = Counter()
    for outcome, cause, status, urls in db.execute(COUNT_REASONS):
        found[Reason.of(outcome, cause, status)] += urls
    return dict(found)


APPLICATION_ID = 0x476F7373
"""Identifies our files in their header; `schema.sql` writes it there."""
VERSION = 10
"""The version of the schema."""
MAGIC: Final = b"SQLite format 3\0"
ID_AT: Final = slice(68, 72)
"""Where the header of a file has its application id."""
SCHEMA = Path(__file__).with_name("schema.sql")

CACHE_KIB = 65_536
BUSY_MS = 60_000
"""How long another process that writes to the file is waited for, between two commits."""


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection in a transaction; CrawlError if it is not the file of a crawl."""
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            _make_or_check(db, path)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            db.execute("PRAGMA wal_autocheckpoint = 0")  # `checkpoints.py` decides when
            db.execute("BEGIN IMMEDIATE")  # waits for other processes, up to `connect`'s timeout
            db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as error:
        raise CrawlError(explain(error, path)) from error
    return db


def open_second(path: Path) -> sqlite3.Connection:
    """Return another connection to the file, which reads what is durable."""
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", isolation_level=None, uri=True)
        db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    except sqlite3.Error as error:
        raise CrawlError(explain(error, path)) from error
    return db


def check_own(path: Path) -> None:
    """Refuse a file that is not that of a crawl, before anything is done to it."""
    if path.exists() and not _is_own(path):
        raise UsageError(
            f"{path} is not the file of a crawl, and stays as it is: name another file or directory"
        )


def _is_own(path: Path) -> bool:
    """Tell whether a file is one of ours: its header says so, or the log beside it does.

    An empty one is free to be used.
    """
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            header = file.read(100)
        if not header or not header.startswith(MAGIC):
            return not header
        if int.from_bytes(header[ID_AT], "big") == APPLICATION_ID:
            return True
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as db:
            (found,) = db.execute("PRAGMA application_id").fetchone()
            return int(found) == APPLICATION_ID
    except (OSError, sqlite3.Error):
        return False


def is_written(path: Path) -> bool:
    """Tell whether a process writes to the file of a crawl at this moment."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, timeout=0, uri=True)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        return error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    return False


def read_saved_metadata(path: Path, name: str) -> bytes | None:
    """Return a note of a crawl that is about to be replaced; None if it cannot be read."""
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else bytes(row[0])


def begin(db: sqlite3.Connection) -> None:
    """Begin a transaction with the write lock; another process that has it is waited for."""
    db.execute("BEGIN IMMEDIATE")


def make_tables(db: sqlite3.Connection) -> None:
    """Create the empty tables of a crawl."""
    db.executescript(SCHEMA.read_text("utf-8"))


def _make_or_check(db: sqlite3.Connection, path: Path) -> None:
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        # First of all: the log that follows is not in the file until it is written back.
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA journal_mode = WAL")
        make_tables(db)
        return
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    if owner != APPLICATION_ID:
        raise CrawlError(f"{path} is not the file of a crawl: give another one")
    check_version(db, path)


def check_version(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that was written by an incompatible version of Gossamer."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise CrawlError(
            f"{path} was written by {age} Gossamer (format {version}, this one has {VERSION}): "
            "continue with that version, or start over with --fresh"
        )


def explain(error: sqlite3.Error, path: Path) -> str:
    """Return a sentence for people: what went wrong with the file, and what to do about it."""
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return (
                f"cannot write {path}: {error}; free some space and run the same command again, "
                "which continues from what was saved"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return f"{path} is damaged ({error}): start over with --fresh"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"another process is writing to {path}: wait for it, or give another --dir"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return f"{path} cannot be opened for writing ({error}): give another --dir"
        case _:
            return f"cannot read or write {path}: {error}"


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
