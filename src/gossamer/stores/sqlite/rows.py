"""The rows of a crawl in a SQLite file, or in memory.

One connection writes, in a transaction that stays open: changes are written into it at once, and
`COMMIT` makes them durable, all or none of them, in whatever thread that is wanted. Another
connection reads meanwhile, and other processes may read at any time (WAL).

**What can be lost.** What is written and not committed, if the process is killed or the disk is
full. A loss of power, or a crash of the system: the log is not flushed at each commit
(`synchronous=NORMAL`), only at each checkpoint, when it has grown to 32 MB. So the last commits can
be missing: about 32 MB of log (some 1,000 to 2,000 pages), or what the system itself has not
written back yet, on Linux about the last 30 seconds. The order is never lost: a commit that
survives has all those before it, and the file is valid. Flushing each commit would wait for the
disk many times a second, only to fetch fewer pages again after a loss of power.
"""

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Final

from msgspec.structs import astuple

from gossamer.stores.rows import Changes, HostRow, UrlRow
from gossamer.stores.sqlite.file import begin, open_file, open_second
from gossamer.stores.sqlite.row_reads import SqliteRowReads

LOG_BYTES: Final = 32_000_000
"""How large the log gets before it is written back."""


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
        connecting = sqlite3.connect(self._path, isolation_level=None, timeout=0)
        with closing(connecting) as db:
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA wal_checkpoint({how})")

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0


_NEW_URL = (
    "INSERT INTO urls (id, url, key, host, state, depth, hops, parent, found_at, given_score, "
    "score, queue, outcome, detail, page, duplicate_of, similarity, own_similarity, finished_at, "
    "attempts, deaths, redirect, targets) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHANGED_URL = (
    "UPDATE urls SET state = ?, depth = ?, hops = ?, parent = ?, score = ?, queue = ?, "
    "outcome = ?, detail = ?, page = ?, duplicate_of = ?, similarity = ?, own_similarity = ?, "
    "finished_at = ?, attempts = ?, deaths = ?, redirect = ?, targets = coalesce(?, targets) "
    "WHERE id = ?"
)
_fixed = attrgetter("id", "url", "key", "host")
_path = attrgetter("state", "depth", "hops", "parent")
_rest = attrgetter(
    *("score", "queue", "outcome", "detail", "page", "duplicate_of", "similarity"),
    *("own_similarity", "finished_at", "attempts", "deaths", "redirect"),
)
_HOST_FIELDS = HostRow.__struct_fields__
_HOST = (
    f"INSERT OR REPLACE INTO hosts ({', '.join(_HOST_FIELDS)}) "  # noqa: S608 -- our own names
    f"VALUES ({', '.join('?' * len(_HOST_FIELDS))})"
)


def write_changes(db: sqlite3.Connection, changes: Changes, last_id: int) -> None:
    """Write everything; URLs up to `last_id` are there already."""
    _write_urls(db, changes, last_id)
    _write_hosts(db, changes)
    _write_pages(db, changes)
    _write_results(db, changes)
    _write_relaxing(db, changes)
    _write_leases(db, changes)
    _write_notes(db, changes)


def _write_urls(db: sqlite3.Connection, changes: Changes, last_id: int) -> None:
    links = dict(changes.links)
    new, changed, listings = [], [], []
    for row in changes.urls.values():
        if row.id > last_id:
            times = row.found_at, row.given_score
            new.append((*_fixed(row), *_path(row), *times, *_rest(row), links.pop(row.id, None)))
            if (listing := _listing(row)) is not None:
                listings.append(listing)
        else:
            changed.append((*_path(row), *_rest(row), links.pop(row.id, None), row.id))
    # In the order of their ids, so that the table only ever grows at its end.
    db.executemany(_NEW_URL, sorted(new))
    db.executemany(_CHANGED_URL, changed)
    if listings:
        db.executemany(
            "INSERT INTO listings (url, lastmod, priority, sitemap_of) VALUES (?, ?, ?, ?)",
            listings,
        )
    if changes.url_changes:
        db.executemany(
            "UPDATE urls SET depth = ?, hops = ?, parent = ?, state = coalesce(?, state) "
            "WHERE id = ?",
            [(*astuple(change), url_id) for url_id, change in changes.url_changes.items()],
        )
    if links:
        db.executemany(
            "UPDATE urls SET targets = ? WHERE id = ?",
            [(packed, url_id) for url_id, packed in links.items()],
        )
    db.executemany(
        "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?)",
        [
            (url_id, one.at, one.outcome, one.cause and one.cause.name, one.detail, one.status)
            for url_id, attempts in changes.attempts.items()
            for one in attempts
        ],
    )


def _listing(row: UrlRow) -> tuple[object, ...] | None:
    found = row.lastmod, row.priority, row.sitemap_of
    return None if found == (None, None, None) else (row.id, *found)


def _write_hosts(db: sqlite3.Connection, changes: Changes) -> None:
    db.executemany(_HOST, map(astuple, changes.hosts.values()))
    counts = [(urls, host) for host, urls in changes.host_urls.items() if host not in changes.hosts]
    db.executemany("UPDATE hosts SET urls = ? WHERE id = ?", counts)
    db.executemany(
        "INSERT OR REPLACE INTO domains (name, credit, worker, kept_until) VALUES (?, ?, ?, ?)",
        map(astuple, changes.domains.values()),
    )


def _write_pages(db: sqlite3.Connection, changes: Changes) -> None:
    if changes.dropped:
        gone = [(page,) for page in changes.dropped]
        db.executemany("DELETE FROM contents WHERE page = ?", gone)
        db.executemany("DELETE FROM sketches WHERE page = ?", gone)
    db.executemany(
        "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(astuple, changes.pages.values()),
    )
    db.executemany(
        "INSERT OR REPLACE INTO contents VALUES (?, ?, ?)",
        [(page, *content) for page, content in changes.contents.items()],
    )
    db.executemany(
        "INSERT OR REPLACE INTO sketches VALUES (?, ?, ?, ?, ?)",
        map(astuple, changes.sketches.values()),
    )
    if changes.reported:
        db.executemany(
            "UPDATE pages SET reported_depth = ? WHERE id = ?",
            [(depth, page) for page, depth in changes.reported.items()],
        )


def _write_results(db: sqlite3.Connection, changes: Changes) -> None:
    db.executemany(
        "INSERT INTO results VALUES (?, ?, ?, ?, ?)",
        [(one.number, one.url, one.page, one.settled_at, one.records) for one in changes.results],
    )
    db.executemany(
        "INSERT INTO result_rows VALUES (?, ?)",
        [(one.number, one.row) for one in changes.results if one.row is not None],
    )
    if changes.rows_dropped:
        db.execute("DELETE FROM result_rows WHERE number <= ?", (changes.rows_dropped,))
    if changes.rows_expired > float("-inf"):
        db.execute(
            "DELETE FROM result_rows WHERE number IN ("
            "SELECT number FROM result_rows JOIN results USING (number) WHERE settled_at <= ?)",
            (changes.rows_expired,),
        )


def _write_relaxing(db: sqlite3.Connection, changes: Changes) -> None:
    if changes.relaxing:
        gone = [(url_id,) for url_id, one in changes.relaxing.items() if one is None]
        there = [one for one in changes.relaxing.values() if one is not None]
        db.executemany("DELETE FROM relaxing WHERE url = ?", gone)
        db.executemany(
            "INSERT OR REPLACE INTO relaxing (depth, hops, url, done) VALUES (?, ?, ?, ?)", there
        )


def _write_leases(db: sqlite3.Connection, changes: Changes) -> None:
    gone = [(url_id,) for url_id, lease in changes.leases.items() if lease is None]
    there = [astuple(lease) for lease in changes.leases.values() if lease is not None]
    db.executemany("DELETE FROM leases WHERE url = ?", gone)
    db.executemany("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?)", there)


def _write_notes(db: sqlite3.Connection, changes: Changes) -> None:
    gone = [(name,) for name, value in changes.metadata.items() if value is None]
    there = [(name, value) for name, value in changes.metadata.items() if value is not None]
    db.executemany("DELETE FROM notes WHERE name = ?", gone)
    db.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?)", there)


class SqliteRows(SqliteRowReads):
    """The rows of a crawl in one SQLite file, or in memory."""

    def __init__(self, path: Path | None = None, *, log_bytes: int = LOG_BYTES) -> None:
        """Open the file at a path; None: keep everything in memory."""
        file = path or Path(":memory:")
        self._writing = open_file(file)
        super().__init__(self._writing if path is None else open_second(file), file)
        self._checkpoints = None if path is None else Checkpoints(path, log_bytes)
        (self._last_id,) = self._writing.execute("SELECT coalesce(max(id), 0) FROM urls").fetchone()

    def is_lost(self) -> bool:
        """Return False: there is no server."""
        return False

    def reconnect(self) -> None:
        """Do nothing: there is no server."""

    def give_up(self) -> None:
        """Do nothing: there is no server."""

    def renew_lead(self) -> None:
        """Do nothing: the lock of the crawl's directory is held until it is closed."""

    def write(self, changes: Changes) -> Callable[[], None] | None:
        """Write changes into the open transaction; return what commits it."""
        assert not changes.sent, "no messages are carried here"
        write_changes(self._writing, changes, self._last_id)
        self._last_id = max(self._last_id, *changes.urls, 0) if changes.urls else self._last_id
        if self._checkpoints is None:
            return None  # what is in memory is as durable as it gets
        return self._commit

    def _commit(self) -> None:
        """Make durable what was written, and begin the next transaction.

        The write lock is taken at once, so that nothing in the transaction can fail for it.
        """
        assert self._checkpoints is not None
        self._writing.execute("COMMIT")
        self._checkpoints.after_commit()
        begin(self._writing)

    def close(self) -> None:
        """Let go of it; what was written and not made durable is lost."""
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._reading.close()
        self._writing.close()
