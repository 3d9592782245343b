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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.stores.embedded.sqlite.checkpoints import LOG_BYTES, Checkpoints
from gossamer.stores.embedded.sqlite.file import begin, explain, open_file, open_second
from gossamer.stores.embedded.sqlite.queries import read_attempts, read_last_result
from gossamer.stores.embedded.sqlite.writing import write_changes
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
    SketchRow,
    UrlRow,
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


class SqliteRows:
    """The rows of a crawl in one SQLite file, or in memory."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path | None = None, *, log_bytes: int = LOG_BYTES) -> None:
        """Open the file at a path; None: keep everything in memory."""
        self._path = path or Path(":memory:")
        self._writing = open_file(self._path)
        self._reading = self._writing if path is None else open_second(self._path)
        self._checkpoints = None if path is None else Checkpoints(path, log_bytes)
        (self._last_id,) = self._writing.execute("SELECT coalesce(max(id), 0) FROM urls").fetchone()

    def complaint(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        assert isinstance(error, sqlite3.Error)
        return explain(error, self._path)

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection that reads what is durable."""
        return self._reading

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

    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return read_last_result(self._reading)

    # -- single rows -----------------------------------------------------------------------------

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""
        found = {}
        for row in self._reading.execute(_URLS, (_packed(ids),)):
            url = UrlRow(*row)
            url.state, url.redirect = UrlState(url.state), bool(url.redirect)
            found[url.id] = url
        return [found[url_id] for url_id in ids]

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""
        rows = self._reading.execute(
            "SELECT id, coalesce(targets, x'') FROM urls "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (_packed(ids),),
        )
        found: dict[int, bytes] = dict(rows)
        return [found[url_id] for url_id in ids]

    def read_queue(self, host: int, queue: int, after: Item, limit: int) -> list[Item]:
        """Return the first URLs stored in a priority queue of a host that come after an item."""
        return self._reading.execute(
            "SELECT score, id FROM urls WHERE host = ? AND queue = ? AND state = 1 "
            "AND (score, id) > (?, ?) ORDER BY score, id LIMIT ?",
            (host, queue, *after, limit),
        ).fetchall()

    def read_attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return read_attempts(self._reading, url_id)

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""
        query = f"{_HOSTS} WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608 -- as above
        found = {row[0]: _host(row) for row in self._reading.execute(query, (_packed(ids),))}
        return [found[host] for host in ids]

    def read_page(self, number: int) -> PageRow | None:
        """Return a page; None if no page has that number."""
        row = self._reading.execute(
            "SELECT id, url, size, digest, content_type, encoding, title, fetched_at, "
            "reported_depth FROM pages WHERE id = ?",
            (number,),
        ).fetchone()
        return None if row is None else PageRow(*row)

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

    # -- writing ---------------------------------------------------------------------------------

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


def _host(row: Sequence[object]) -> HostRow:
    return msgspec.convert(row, HostRow)


def _packed(ids: Sequence[int]) -> str:
    return msgspec.json.encode([*ids]).decode()
