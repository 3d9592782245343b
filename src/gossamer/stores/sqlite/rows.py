"""Reading the rows of a crawl over a connection to its SQLite file."""

import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import astuple

from gossamer.model import Cause, HostKey
from gossamer.model.errors import UsageError
from gossamer.stores.directory import DATABASE, find_crawl, is_locked
from gossamer.stores.reader import CrawlReader
from gossamer.stores.reading import Presence, ReadRequest
from gossamer.stores.rows import (
    Changes,
    DomainRow,
    HostRow,
    Item,
    KnownPage,
    KnownUrl,
    LeaseRow,
    PageRow,
    RelaxingUrl,
    ResultRow,
    SketchRow,
    UrlRow,
)
from gossamer.stores.sqlite.file import (
    begin,
    explain,
    open_file,
    open_second,
    read_metadata,
    reading,
)
from gossamer.stores.url_record import Attempt, UrlState

_URL_COLUMNS = """
    id, urls.url, key, host, state, depth, hops, parent, found_at, given_score, lastmod, priority,
    sitemap_of, score, queue, outcome, detail, page, duplicate_of, similarity, own_similarity,
    finished_at, attempts, deaths, redirect
"""
"""The fields of a `UrlRow`, in their order."""
_URLS = (
    f"SELECT {_URL_COLUMNS} FROM urls LEFT JOIN listings ON listings.url = urls.id "  # noqa: S608 -- our own names
    "WHERE urls.id IN (SELECT value FROM json_each(?))"
)
_HOSTS = f"SELECT {', '.join(HostRow.__struct_fields__)} FROM hosts"  # noqa: S608 -- our own names

_PAGES = (
    f"SELECT id, {', '.join(PageRow.__struct_fields__[1:])} FROM pages "  # noqa: S608 -- our own names
    "WHERE id IN (SELECT value FROM json_each(?))"
)
_ATTEMPTS = (
    "SELECT url, at, outcome, cause, detail, status FROM attempts "
    "WHERE url IN (SELECT value FROM json_each(?)) ORDER BY attempts.rowid"
)
MOST_VALUES = 500
"""How many values are named in one statement."""

Row = TypeVar("Row")


class ReadableSqliteRows:
    """The rows of a crawl in one SQLite file, or in memory, to be read."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Read over a connection, perhaps in a transaction; errors name the file at a path."""
        self._reading = connection
        self._path = path

    def describe_error(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        assert isinstance(error, sqlite3.Error)
        return explain(error, self._path)

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection that reads what is durable."""
        return self._reading

    def close(self) -> None:
        """Let go of the connection."""
        self._reading.close()

    # -- everything, when a crawl is opened ------------------------------------------------------

    def metadata(self) -> dict[str, bytes]:
        """Return what is kept with the crawl as a whole, by name."""
        return dict(self._reading.execute("SELECT name, CAST(value AS BLOB) FROM notes"))

    def known_urls(self) -> Iterator[KnownUrl]:
        """Yield what memory holds of every URL, in the order of discovery."""
        rows = self._reading.execute(
            "SELECT id, key, host, state, depth, hops, page, finished_at, "
            "coalesce(length(targets), 0) > 0, redirect, queue, sitemap_of "
            "FROM urls LEFT JOIN listings ON listings.url = urls.id ORDER BY id"
        )
        return map(KnownUrl._make, rows)

    def known_pages(self) -> Iterator[KnownPage]:
        """Yield what memory holds of every page, in the order of numbers."""
        rows = self._reading.execute(
            "SELECT id, url, digest, fetched_at, reported_depth FROM pages ORDER BY id"
        )
        return map(KnownPage._make, rows)

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""
        query = "SELECT page, bands FROM sketches WHERE fetched_at > ? ORDER BY page"
        return self._reading.execute(query, (since,))

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids: 1, 2, 3 and so on."""
        return map(_host, self._reading.execute(f"{_HOSTS} ORDER BY id"))

    def domains(self) -> Iterator[DomainRow]:
        """Yield all domains of which anything is stored."""
        rows = self._reading.execute("SELECT name, credit, worker, kept_until FROM domains")
        return (DomainRow(*row) for row in rows)

    def relaxing(self) -> Iterator[RelaxingUrl]:
        """Yield the URLs whose links are still to be followed over a shorter path."""
        rows = self._reading.execute("SELECT depth, hops, url, done FROM relaxing")
        return map(RelaxingUrl._make, rows)

    def leases(self) -> Iterator[LeaseRow]:
        """Yield the leases."""
        rows = self._reading.execute(
            "SELECT url, number, worker, deadline, allowed, shared, unproven, claim FROM leases"
        )
        for row in rows:
            yield msgspec.convert(row, LeaseRow, strict=False)

    def last_url(self) -> int:
        """Return the id of the last URL; 0 when there is none."""
        return self._number("SELECT coalesce(max(id), 0) FROM urls")

    def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return self._number("SELECT coalesce(max(id), 0) FROM pages")

    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return self._number("SELECT coalesce(max(number), 0) FROM results")

    # -- which there are -------------------------------------------------------------------------

    def find_urls(self, keys: Sequence[bytes]) -> list[int]:
        """Return the ids of the URLs with these keys; 0 for one that is not known."""
        found = dict(self._among("SELECT key, id FROM urls WHERE key", keys))
        return [found.get(key, 0) for key in keys]

    def find_hosts(self, keys: Sequence[HostKey]) -> list[int]:
        """Return the ids of hosts; 0 for one that is not known."""
        found = dict(self._among("SELECT key, id FROM hosts WHERE key", keys))
        return [found.get(key, 0) for key in keys]

    def count_queued(self, host: int, queue: int, before: Item) -> int:
        """Return how many URLs stored in a priority queue of a host come before one in it."""
        return self._number(
            "SELECT count(*) FROM urls WHERE host = ? AND queue = ? AND state = 1 "
            "AND (score, id) < (?, ?)",
            *(host, queue, *before),
        )

    def count_unscored(self, before: int) -> int:
        """Return how many URLs with a smaller id wait for their score."""
        return self._number("SELECT count(*) FROM urls WHERE state = 0 AND id < ?", before)

    # -- single rows -----------------------------------------------------------------------------

    def read_metadata(self, names: Sequence[str]) -> list[bytes | None]:
        """Return what is kept under these names, a consistent snapshot; None: nothing is."""
        found = dict(self._among("SELECT name, CAST(value AS BLOB) FROM notes WHERE name", names))
        return [found.get(name) for name in names]

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""
        found = {}
        for row in self._reading.execute(_URLS, (_packed(ids),)):
            url = UrlRow(*row)
            url.state, url.redirect = UrlState(url.state), bool(url.redirect)
            found[url.id] = url
        return [_there(found, url_id, "URL") for url_id in ids]

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""
        rows = self._reading.execute(
            "SELECT id, coalesce(targets, x'') FROM urls "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (_packed(ids),),
        )
        found: dict[int, bytes] = dict(rows)
        return [_there(found, url_id, "URL") for url_id in ids]

    def read_queue(self, host: int, queue: int, after: Item, limit: int) -> list[Item]:
        """Return the first URLs stored in a priority queue of a host that come after an item."""
        return self._reading.execute(
            "SELECT score, id FROM urls WHERE host = ? AND queue = ? AND state = 1 "
            "AND (score, id) > (?, ?) ORDER BY score, id LIMIT ?",
            (host, queue, *after, limit),
        ).fetchall()

    def read_attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return self.read_histories([url_id])[0]

    def read_histories(self, ids: Sequence[int]) -> list[list[Attempt]]:
        """Return the histories of known URLs, in this order."""
        found: defaultdict[int, list[Attempt]] = defaultdict(list)
        for url_id, *attempt in self._reading.execute(_ATTEMPTS, (_packed(ids),)):
            found[url_id].append(_attempt(attempt))
        return [found[url_id] for url_id in ids]

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""
        query = f"{_HOSTS} WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608 -- as above
        found = {row[0]: _host(row) for row in self._reading.execute(query, (_packed(ids),))}
        return [_there(found, host, "host") for host in ids]

    def read_page(self, number: int) -> PageRow | None:
        """Return a page; None if no page has that number."""
        return self.read_pages([number])[0]

    def read_pages(self, numbers: Sequence[int]) -> list[PageRow | None]:
        """Return pages, in this order; None for a number that no page has."""
        found = {
            row[0]: PageRow(*row) for row in self._reading.execute(_PAGES, (_packed(numbers),))
        }
        return [found.get(number) for number in numbers]

    def read_sketches(self, pages: Sequence[int]) -> list[SketchRow | None]:
        """Return the sketches of pages, in this order; None for one that has none."""
        rows = self._reading.execute(
            "SELECT page, fetched_at, bands, sample, own FROM sketches "
            "WHERE page IN (SELECT value FROM json_each(?))",
            (_packed(pages),),
        )
        found = {row[0]: SketchRow(*row) for row in rows}
        return [found.get(page) for page in pages]

    def read_content(self, page: int) -> bytes | None:
        """Return the packed content of a page; None if it is not stored any more."""
        query = "SELECT content FROM contents WHERE page = ?"
        row = self._reading.execute(query, (page,)).fetchone()
        return None if row is None else bytes(row[0])

    def read_expired(self, before: float, limit: int) -> list[int]:
        """Return pages with stored content that were fetched up to `before`, the oldest first."""
        rows = self._reading.execute(
            "SELECT page FROM contents WHERE fetched_at <= ? ORDER BY fetched_at, page LIMIT ?",
            (before, limit),
        )
        return [page for (page,) in rows]

    def read_results(self, after: int, limit: int) -> list[ResultRow]:
        """Return the first results after a number, in their order."""
        rows = self._reading.execute(
            "SELECT results.number, url, page, settled_at, records, row FROM results "
            "LEFT JOIN result_rows ON result_rows.number = results.number "
            "WHERE results.number > ? ORDER BY results.number LIMIT ?",
            (after, limit),
        )
        return [msgspec.convert(row, ResultRow) for row in rows]

    # -- inside ----------------------------------------------------------------------------------

    def _number(self, query: str, *values: object) -> int:
        """Return the one number that a query finds."""
        (found,) = self._reading.execute(query, values).fetchone()
        return int(found)

    def _among(self, query: str, values: Sequence[object]) -> Iterator[Any]:
        """Yield the rows that a query finds for these values, some at a time."""
        for first in range(0, len(values), MOST_VALUES):
            some = values[first : first + MOST_VALUES]
            yield from self._reading.execute(f"{query} IN ({', '.join('?' * len(some))})", some)


def _host(row: Sequence[object]) -> HostRow:
    return msgspec.convert(row, HostRow)


def _attempt(row: Sequence[object]) -> Attempt:
    at, outcome, cause, *rest = row
    known = Cause.__members__.get(cause, cause) if isinstance(cause, str) else cause
    values = zip(Attempt.__struct_fields__, (at, outcome, known, *rest), strict=True)
    return msgspec.convert(dict(values), Attempt)


def _there(found: Mapping[int, Row], number: int, what: str) -> Row:
    """Return a row that something else refers to."""
    row = found.get(number)
    if row is None:
        raise sqlite3.DatabaseError(f"{what} {number} is missing")
    return row


def _packed(ids: Sequence[int]) -> str:
    return msgspec.json.encode([*ids]).decode()


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
    closed = read_metadata(connection, "closed") == b"yes"
    return closed, not closed and is_locked(directory)


class SqliteReader(CrawlReader):
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
        rows = ReadableSqliteRows(connection, Path(where))
        super().__init__(rows, lambda: presence, where=where, directory=directory)
        self.connection = connection
        self.running = running


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


class SqliteRows(ReadableSqliteRows):
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
