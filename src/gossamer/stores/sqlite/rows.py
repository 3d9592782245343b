"""The rows of a crawl in a SQLite file, or in memory.

One connection writes, in a transaction that stays open: changes are written into it at once, and
`COMMIT` makes them durable, all or none of them, in whatever thread that is wanted. Another
connection reads meanwhile, and other processes may read at any time (WAL).
"""

import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import astuple

from gossamer.model import Cause, HostKey
from gossamer.model.errors import UsageError
from gossamer.stores.crawl_views import Presence, ReadRequest
from gossamer.stores.directory import DATABASE, find_crawl, is_locked
from gossamer.stores.reader import CrawlReader
from gossamer.stores.rows import (
    ALL,
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
    LOG_BYTES,
    Checkpoints,
    begin,
    explain,
    open_file,
    open_second,
    read_metadata,
    reading,
)
from gossamer.stores.url_record import Attempt, UrlState

MOST_KEYS: Final = 500
"""How many keys are named in one statement."""

# -- the columns ---------------------------------------------------------------------------------

_LISTING: Final = ("lastmod", "priority", "sitemap_of")
"""The fields of a `UrlRow` that have a table of their own, as few URLs have them."""
_NEVER_CHANGING: Final = ("id", "url", "key", "host", "found_at", "given_score")
_URL: Final = tuple(name for name in UrlRow.__struct_fields__ if name not in _LISTING)
_CHANGING: Final = tuple(name for name in _URL if name not in _NEVER_CHANGING)
_values, _changing_values = attrgetter(*_URL), attrgetter(*_CHANGING)
_end = attrgetter("detail", "status")


@cache
def _insert(table: str, columns: tuple[str, ...], how: str) -> str:
    marks = ", ".join("?" * len(columns))
    return f"{how} INTO {table} ({', '.join(columns)}) VALUES ({marks})"


@cache
def _select(table: str, columns: tuple[str, ...]) -> str:
    return f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608 -- our own names


_PAGE: Final = ("id", *PageRow.__struct_fields__[1:])
_RELAXING: Final = ("depth", "hops", "url", "done")
_ATTEMPT: Final = ("url", "at", "outcome", "cause", "detail", "status")
_BLOCK: Final = ("number", "columns")
_RESULT: Final = ("number", "url", "page", "settled_at", "records")

_UPDATE_URL: Final = (
    f"UPDATE urls SET {', '.join(f'{name} = ?' for name in _CHANGING)}, "  # noqa: S608 -- our names
    "targets = coalesce(?, targets) WHERE id = ?"
)
_SELECT_URLS: Final = _select(
    "urls LEFT JOIN listings ON listings.url = urls.id",
    tuple("urls.url" if name == "url" else name for name in UrlRow.__struct_fields__),
)
_SELECT_HOSTS: Final = _select("hosts", HostRow.__struct_fields__)

Row = TypeVar("Row")


# -- reading -------------------------------------------------------------------------------------


class ReadableSqliteRows:
    """The rows of a crawl in one SQLite file, or in memory, to be read."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Read over a connection, perhaps in a transaction; errors name the file at a path."""
        self.connection = connection
        """Reads what is durable."""
        self._path = path

    def describe_error(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        assert isinstance(error, sqlite3.Error)
        return explain(error, self._path)

    def close(self) -> None:
        """Let go of the connection."""
        self.connection.close()

    def metadata(self) -> dict[str, bytes]:
        """Return what is stored of the crawl as a whole, by name."""
        return dict(self._all("SELECT name, CAST(value AS BLOB) FROM notes"))

    def known_urls(self, first: int = 1, last: int = ALL) -> Iterator[KnownUrl]:
        """Yield what memory holds of URLs, in the order of discovery."""
        rows = self._all(
            "SELECT id, key, host, state, depth, hops, page, finished_at, "
            "coalesce(length(targets), 0) > 0, redirect, queue, sitemap_of "
            "FROM urls LEFT JOIN listings ON listings.url = urls.id "
            "WHERE id BETWEEN ? AND ? ORDER BY id",
            *(first, last),
        )
        return map(KnownUrl._make, rows)

    def known_pages(self, first: int = 1, last: int = ALL) -> Iterator[KnownPage]:
        """Yield what memory holds of pages, in the order of numbers."""
        rows = self._all(
            "SELECT id, url, digest, fetched_at, reported_depth FROM pages "
            "WHERE id BETWEEN ? AND ? ORDER BY id",
            *(first, last),
        )
        return map(KnownPage._make, rows)

    def url_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of all URLs, packed in blocks, which are in order; some may be missing."""
        return self._all("SELECT number, columns FROM url_blocks ORDER BY number")

    def page_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of pages."""
        return self._all("SELECT number, columns FROM page_blocks ORDER BY number")

    def url_keys(self) -> Iterator[tuple[bytes, int]]:
        """Yield the key and the id of every URL, in any order; the index has both."""
        return self._all("SELECT key, id FROM urls")

    def page_digests(self) -> Iterator[tuple[bytes, int]]:
        """Yield the digest and the number of every page, in any order; the index has both."""
        return self._all("SELECT digest, id FROM pages")

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""
        return self._all(
            "SELECT page, bands FROM sketches WHERE fetched_at > ? ORDER BY page", since
        )

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids: 1, 2, 3 and so on."""
        return map(_host, self._all(f"{_SELECT_HOSTS} ORDER BY id"))

    def domains(self) -> Iterator[DomainRow]:
        """Yield all domains of which anything is stored."""
        rows = self._all(_select("domains", DomainRow.__struct_fields__))
        return (DomainRow(*row) for row in rows)

    def relaxing(self) -> Iterator[RelaxingUrl]:
        """Yield the URLs whose links are still to be followed over a shorter path."""
        return map(RelaxingUrl._make, self._all(_select("relaxing", _RELAXING)))

    def leases(self) -> Iterator[LeaseRow]:
        """Yield the leases."""
        for row in self._all(_select("leases", LeaseRow.__struct_fields__)):
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

    def find_urls(self, keys: Sequence[bytes]) -> list[int]:
        """Return the ids of the URLs with these keys; 0 for one that is not known."""
        ids: dict[bytes, int] = {}
        for first in range(0, len(keys), MOST_KEYS):
            some = keys[first : first + MOST_KEYS]
            marks = ", ".join("?" * len(some))
            ids |= dict(self._all(f"SELECT key, id FROM urls WHERE key IN ({marks})", *some))  # noqa: S608 -- question marks
        return [ids.get(key, 0) for key in keys]

    def find_hosts(self, keys: Sequence[HostKey]) -> list[int]:
        """Return the ids of hosts; 0 for one that is not known."""
        ids = dict(self._among("SELECT key, id FROM hosts WHERE key", keys))
        return [ids.get(key, 0) for key in keys]

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

    def read_metadata(self, names: Sequence[str]) -> list[bytes | None]:
        """Return what is stored under these names, a consistent snapshot; None: nothing is."""
        values = dict(self._among("SELECT name, CAST(value AS BLOB) FROM notes WHERE name", names))
        return [values.get(name) for name in names]

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""
        urls = {}
        for row in self._among(f"{_SELECT_URLS} WHERE id", ids):
            url = UrlRow(*row)
            url.state, url.redirect = UrlState(url.state), bool(url.redirect)
            urls[url.id] = url
        return [_required(urls, url_id, "URL") for url_id in ids]

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""
        links: dict[int, bytes] = dict(
            self._among("SELECT id, coalesce(targets, x'') FROM urls WHERE id", ids)
        )
        return [_required(links, url_id, "URL") for url_id in ids]

    def read_queue(self, host: int, queue: int, after: Item, limit: int) -> list[Item]:
        """Return the first URLs stored in a priority queue of a host that come after an item."""
        return self._all(
            "SELECT score, id FROM urls WHERE host = ? AND queue = ? AND state = 1 "
            "AND (score, id) > (?, ?) ORDER BY score, id LIMIT ?",
            *(host, queue, *after, limit),
        ).fetchall()

    def read_attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return self.read_histories([url_id])[0]

    def read_histories(self, ids: Sequence[int]) -> list[list[Attempt]]:
        """Return the histories of known URLs, in this order."""
        histories: defaultdict[int, list[Attempt]] = defaultdict(list)
        query = f"{_select('attempts', _ATTEMPT)} WHERE url"
        for url_id, *values in self._among(query, ids, "ORDER BY attempts.rowid"):
            histories[url_id].append(_attempt(values))
        return [histories[url_id] for url_id in ids]

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""
        hosts = {row[0]: _host(row) for row in self._among(f"{_SELECT_HOSTS} WHERE id", ids)}
        return [_required(hosts, host, "host") for host in ids]

    def read_page(self, number: int) -> PageRow | None:
        """Return a page; None if no page has that number."""
        return self.read_pages([number])[0]

    def read_pages(self, numbers: Sequence[int]) -> list[PageRow | None]:
        """Return pages, in this order; None for a number that no page has."""
        rows = self._among(f"{_select('pages', _PAGE)} WHERE id", numbers)
        pages = {row[0]: PageRow(*row) for row in rows}
        return [pages.get(number) for number in numbers]

    def read_sketches(self, pages: Sequence[int]) -> list[SketchRow | None]:
        """Return the sketches of pages, in this order; None for one that has none."""
        rows = self._among(f"{_select('sketches', SketchRow.__struct_fields__)} WHERE page", pages)
        sketches = {row[0]: SketchRow(*row) for row in rows}
        return [sketches.get(page) for page in pages]

    def read_content(self, page: int) -> bytes | None:
        """Return the packed content of a page; None if it is not stored any more."""
        row = self._all("SELECT content FROM contents WHERE page = ?", page).fetchone()
        return None if row is None else bytes(row[0])

    def read_body(self, name: str) -> bytes | None:
        """Return None: a body is in the rows, or in a segment."""

    def read_expired(self, before: float, limit: int) -> list[int]:
        """Return pages with stored content that were fetched up to `before`, the oldest first."""
        query = "SELECT page FROM contents WHERE fetched_at <= ? ORDER BY fetched_at, page LIMIT ?"
        return [page for (page,) in self._all(query, before, limit)]

    def read_results(self, after: int, limit: int) -> list[ResultRow]:
        """Return the first results after a number, in their order."""
        rows = self._all(
            "SELECT results.number, url, page, settled_at, records, row FROM results "
            "LEFT JOIN result_rows ON result_rows.number = results.number "
            "WHERE results.number > ? ORDER BY results.number LIMIT ?",
            *(after, limit),
        )
        return [msgspec.convert(row, ResultRow) for row in rows]

    def _all(self, query: str, *values: object) -> sqlite3.Cursor:
        return self.connection.execute(query, values)

    def _number(self, query: str, *values: object) -> int:
        """Return the one number that a query finds."""
        (number,) = self._all(query, *values).fetchone()
        return int(number)

    def _among(self, query: str, values: Sequence[int | str], more: str = "") -> Iterator[Any]:
        """Yield the rows that a query finds for these ids or names."""
        packed = msgspec.json.encode([*values]).decode()
        return self._all(f"{query} IN (SELECT value FROM json_each(?)) {more}", packed)  # noqa: S608 -- our own words


def _host(row: Sequence[object]) -> HostRow:
    return msgspec.convert(row, HostRow)


def _attempt(values: Sequence[Any]) -> Attempt:
    at, outcome, cause, *rest = values
    cause = Cause.__members__.get(cause, cause)
    fields = zip(Attempt.__struct_fields__, (at, outcome, cause, *rest), strict=True)
    return msgspec.convert(dict(fields), Attempt)


def _required(rows: Mapping[int, Row], number: int, what: str) -> Row:
    """Return a row that something else refers to."""
    row = rows.get(number)
    if row is None:
        raise sqlite3.DatabaseError(f"{what} {number} is missing")
    return row


# -- writing -------------------------------------------------------------------------------------


def write_changes(db: sqlite3.Connection, changes: Changes, last_id: int) -> None:
    """Write everything; URLs up to `last_id` are there already."""
    _write_urls(db, changes, last_id)
    hosts = changes.hosts
    _put(db, "hosts", HostRow.__struct_fields__, map(astuple, hosts.values()))
    counts = [(urls, host) for host, urls in changes.host_urls.items() if host not in hosts]
    db.executemany("UPDATE hosts SET urls = ? WHERE id = ?", counts)
    _put(db, "domains", DomainRow.__struct_fields__, map(astuple, changes.domains.values()))
    _write_pages(db, changes)
    _write_results(db, changes)
    _change(db, "relaxing", "url", _RELAXING, changes.relaxing)
    leases = changes.leases.items()
    rows = {url_id: None if row is None else astuple(row) for url_id, row in leases}
    _change(db, "leases", "url", LeaseRow.__struct_fields__, rows)
    metadata = changes.metadata.items()
    entries = {name: None if value is None else (name, value) for name, value in metadata}
    _change(db, "notes", "name", ("name", "value"), entries)


def _put(
    db: sqlite3.Connection,
    table: str,
    columns: tuple[str, ...],
    rows: Iterable[tuple[object, ...]],
    how: str = "INSERT OR REPLACE",
) -> None:
    """Write whole rows."""
    db.executemany(_insert(table, columns, how), rows)


def _change(
    db: sqlite3.Connection,
    table: str,
    key: str,
    columns: tuple[str, ...],
    rows: Mapping[Any, tuple[object, ...] | None],
) -> None:
    """Write rows, and remove those that are None."""
    gone = [(name,) for name, row in rows.items() if row is None]
    db.executemany(f"DELETE FROM {table} WHERE {key} = ?", gone)  # noqa: S608 -- our own names
    _put(db, table, columns, [row for row in rows.values() if row is not None])


def _write_urls(db: sqlite3.Connection, changes: Changes, last_id: int) -> None:
    links = dict(changes.links)
    new, changed, listings = [], [], []
    for row in changes.urls.values():
        if row.id <= last_id:
            changed.append((*_changing_values(row), links.pop(row.id, None), row.id))
            continue
        new.append((*_values(row), links.pop(row.id, None)))
        listing = row.lastmod, row.priority, row.sitemap_of
        if listing != (None, None, None):
            listings.append((row.id, *listing))
    # In the order of their ids, so that the table only ever grows at its end.
    _put(db, "urls", (*_URL, "targets"), sorted(new), "INSERT")
    db.executemany(_UPDATE_URL, changed)
    _put(db, "listings", ("url", *_LISTING), listings, "INSERT")
    db.executemany(
        "UPDATE urls SET depth = ?, hops = ?, parent = ?, state = coalesce(?, state) WHERE id = ?",
        [(*astuple(change), url_id) for url_id, change in changes.url_changes.items()],
    )
    _put(db, "url_blocks", _BLOCK, changes.url_blocks.items())
    targets = [(packed, url_id) for url_id, packed in links.items()]
    db.executemany("UPDATE urls SET targets = ? WHERE id = ?", targets)
    visits = [
        (url_id, visit.at, visit.outcome, visit.cause and visit.cause.name, *_end(visit))
        for url_id, attempts in changes.attempts.items()
        for visit in attempts
    ]
    _put(db, "attempts", _ATTEMPT, visits, "INSERT")


def _write_pages(db: sqlite3.Connection, changes: Changes) -> None:
    dropped = [(page,) for page in changes.dropped]
    db.executemany("DELETE FROM contents WHERE page = ?", dropped)
    db.executemany("DELETE FROM sketches WHERE page = ?", dropped)
    _put(db, "pages", _PAGE, map(astuple, changes.pages.values()))
    _put(db, "page_blocks", _BLOCK, changes.page_blocks.items())
    contents = [(page, *content) for page, content in changes.contents.items()]
    _put(db, "contents", ("page", "fetched_at", "content"), contents)
    _put(db, "sketches", SketchRow.__struct_fields__, map(astuple, changes.sketches.values()))
    depths = [(depth, page) for page, depth in changes.reported.items()]
    db.executemany("UPDATE pages SET reported_depth = ? WHERE id = ?", depths)


def _write_results(db: sqlite3.Connection, changes: Changes) -> None:
    results = changes.results
    _put(db, "results", _RESULT, [astuple(result)[:-1] for result in results], "INSERT")
    rows = [(result.number, result.row) for result in results if result.row is not None]
    _put(db, "result_rows", ("number", "row"), rows, "INSERT")
    if changes.rows_dropped:
        db.execute("DELETE FROM result_rows WHERE number <= ?", (changes.rows_dropped,))
    if changes.rows_expired > float("-inf"):
        db.execute(
            "DELETE FROM result_rows WHERE number IN ("
            "SELECT number FROM result_rows JOIN results USING (number) WHERE settled_at <= ?)",
            (changes.rows_expired,),
        )


class SqliteRows(ReadableSqliteRows):
    """The rows of a crawl in one SQLite file, or in memory."""

    def __init__(self, path: Path | None = None, *, log_bytes: int = LOG_BYTES) -> None:
        """Open the file at a path; None: hold everything in memory."""
        file = path or Path(":memory:")
        self._writing = open_file(file)
        super().__init__(self._writing if path is None else open_second(file), file)
        self._checkpoints = None if path is None else Checkpoints(path, log_bytes)
        (self._last_id,) = self._writing.execute("SELECT coalesce(max(id), 0) FROM urls").fetchone()

    def has_lost(self, content: bytes) -> bool:
        """Return False: the rows have it."""
        return False

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
        self._last_id = max(self._last_id, *changes.urls, 0)
        # What is in memory is as durable as it gets.
        return None if self._checkpoints is None else self._commit

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
        super().close()
        self._writing.close()


# -- the reader ----------------------------------------------------------------------------------


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


@asynccontextmanager
async def open_sqlite_reader(request: ReadRequest) -> AsyncIterator[SqliteReader]:
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
