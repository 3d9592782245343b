"""The SQLite file of a crawl: created, or opened and checked."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from gossamer.errors import CrawlError, UsageError

APPLICATION_ID = 0x476F7373
"""Identifies our files in their header; `schema.sql` writes it there."""
VERSION = 9
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


def read_saved_note(path: Path, name: str) -> bytes | None:
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
