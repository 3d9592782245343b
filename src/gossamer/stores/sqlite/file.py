"""The SQLite file of a crawl: created, or opened and checked, and its log written back.

**What can be lost.** What is written and not committed, if the process is killed or the disk is
full. A loss of power, or a crash of the system: the log is not flushed at each commit
(`synchronous=NORMAL`), only at each checkpoint, when it has grown to 32 MB. So the last commits can
be missing: about 32 MB of log (some 1,000 to 2,000 pages), or what the system itself has not
written back yet, on Linux about the last 30 seconds. The order is never lost: a commit that
survives has all those before it, and the file is valid. Flushing each commit would wait for the
disk many times a second, only to fetch fewer pages again after a loss of power.
"""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.counting import WITHOUT_CAUSE

APPLICATION_ID: Final = 0x476F7373
"""Identifies our files in their header; `schema.sql` writes it there."""
VERSION: Final = 10
"""The version of the schema."""
MAGIC: Final = b"SQLite format 3\0"
ID_AT: Final = slice(68, 72)
"""Where the header of a file has its application id."""
SCHEMA: Final = Path(__file__).with_name("schema.sql")
TABLES: Final = ("attempts", "contents", "hosts", "notes", "pages", "results", "urls")
CACHE_KIB: Final = 65_536
BUSY_MS: Final = 60_000
"""How long another process that writes to the file is waited for, between two commits."""
LOG_BYTES: Final = 32_000_000
"""How large the log gets before it is written back."""

_WITHOUT_CAUSE = (
    f"(urls.outcome IN {tuple(map(str, sorted(WITHOUT_CAUSE)))} "
    "OR urls.outcome = 'fetched' AND urls.detail IS NULL)"
)
"""What surely has no cause, so that its last attempt, one of many, need not be found."""
COUNT_REASONS = f"""
    SELECT outcome, NULL AS cause, NULL AS status, count(*) AS urls FROM urls
    WHERE state = 4 AND {_WITHOUT_CAUSE} GROUP BY outcome
    UNION ALL SELECT *, count(*) FROM (
        SELECT urls.outcome, cause, status FROM urls
        JOIN attempts ON attempts.rowid = (SELECT max(rowid) FROM attempts WHERE url = urls.id)
        WHERE state = 4 AND NOT {_WITHOUT_CAUSE}
    ) GROUP BY outcome, cause, status
"""  # noqa: S608 -- our own words
"""How many URLs are finished, by the reason: outcome, and cause and status of the last attempt."""


def connect(path: Path, options: str = "mode=ro", timeout_s: float = 5.0) -> sqlite3.Connection:
    """Return a connection to a file that is there, by SQLite's options for that."""
    address = f"{path.absolute().as_uri()}?{options}"
    return sqlite3.connect(address, timeout_s, isolation_level=None, uri=True)


# -- to work on it -------------------------------------------------------------------------------


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection in a transaction; CrawlError if it is not the file of a crawl."""
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            _make_or_check(db, path)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            db.execute("PRAGMA wal_autocheckpoint = 0")  # `Checkpoints` decides when
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
        db = connect(path)
        db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    except sqlite3.Error as error:
        raise CrawlError(explain(error, path)) from error
    return db


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
    elif _application_id(db) != APPLICATION_ID:
        raise CrawlError(f"{path} is not the file of a crawl: give another one")
    else:
        _check_version(db, path)


def _application_id(db: sqlite3.Connection) -> int:
    (number,) = db.execute("PRAGMA application_id").fetchone()
    return int(number)


def _check_version(db: sqlite3.Connection, path: Path) -> None:
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


# -- to replace it -------------------------------------------------------------------------------


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
        if not header.startswith(MAGIC):
            return not header
        if int.from_bytes(header[ID_AT], "big") == APPLICATION_ID:
            return True
        with closing(connect(path)) as db:
            return _application_id(db) == APPLICATION_ID
    except (OSError, sqlite3.Error):
        return False


def is_written(path: Path) -> bool:
    """Tell whether a process writes to the file of a crawl at this moment."""
    try:
        with closing(connect(path, "mode=rw", timeout_s=0)) as db:
            begin(db)
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        return error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    return False


def read_metadata(db: sqlite3.Connection, name: str) -> bytes | None:
    """Return what is stored of the crawl as a whole under a name."""
    row = db.execute("SELECT CAST(value AS BLOB) FROM notes WHERE name = ?", (name,)).fetchone()
    return None if row is None else bytes(row[0])


def read_saved_metadata(path: Path, name: str) -> bytes | None:
    """Return the same of a crawl that is about to be replaced; None if it cannot be read."""
    if not path.exists():
        return None
    try:
        with closing(connect(path)) as db:
            return read_metadata(db, name)
    except sqlite3.Error:
        return None


# -- to read it ----------------------------------------------------------------------------------


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection that sees a consistent snapshot; `CrawlError` if it cannot be read."""
    try:
        with closing(_open_snapshot(path)) as db:
            _check_version(db, path)
            yield db
    except sqlite3.Error as error:
        raise CrawlError(f"cannot read {path}: {error}") from error
    except msgspec.DecodeError as error:
        raise CrawlError(
            f"{path} is damaged: {error}; run 'gossamer verify' for everything that is wrong"
        ) from error


def _open_snapshot(path: Path) -> sqlite3.Connection:
    try:
        return _begin_reading(path, "mode=ro")
    except sqlite3.OperationalError as error:
        # Beside a file in WAL mode SQLite needs an index of the log. Where it may not create one,
        # the file alone is read, if there is no log with further changes.
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise sqlite3.OperationalError(
                f"{error}; SQLite cannot read its log without writing to the directory: copy the "
                "directory to where you may write"
            ) from error
        return _begin_reading(path, "mode=ro&immutable=1")


def _begin_reading(path: Path, options: str) -> sqlite3.Connection:
    """Open the file and begin a transaction; its first query takes the snapshot."""
    db = connect(path, options)
    try:
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("BEGIN")
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if not names.issuperset(TABLES):
            raise sqlite3.DatabaseError("it is not the file of a crawl")
    except sqlite3.Error:
        db.close()
        raise
    return db


# -- its log -------------------------------------------------------------------------------------


class Checkpoints:
    """Decides when the log of a file is written back, and has a thread do it."""

    def __init__(self, path: Path, log_bytes: int = LOG_BYTES) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._log_bytes = log_bytes
        self._due_at = log_bytes
        """The size of the log at which the next one begins."""
        self._thread: ThreadPoolExecutor | None = None
        self._copying: Future[None] | None = None

    def after_commit(self) -> None:
        """Go on with them, between two transactions; raise an error that the thread has met."""
        if self._copying is not None:
            if self._copying.done():
                self._copying.result()
                self._copying = None
                self._start("TRUNCATE").result()
                # What somebody reads cannot be emptied: it is tried when there is as much more.
                self._due_at = self._log_size() + self._log_bytes
        elif self._log_size() >= self._due_at:
            self._copying = self._start("PASSIVE")

    def close(self) -> None:
        """Wait for the one that is under way; what it leaves undone, closing the file does."""
        if self._thread is not None:
            self._thread.shutdown()

    def _start(self, how: str) -> Future[None]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "gossamer-checkpoint")
        return self._thread.submit(self._run, how)

    def _run(self, how: str) -> None:
        # Readers, and whoever writes a backup of the file, are not waited for.
        with closing(connect(self._path, "mode=rw", timeout_s=0)) as db:
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA wal_checkpoint({how})")

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0
