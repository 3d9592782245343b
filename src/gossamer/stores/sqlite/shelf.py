"""Rows in a file of SQLite.

One connection writes, in one transaction that `commit` ends and begins anew, so that whatever
happened between two commits becomes durable together or not at all. Other processes may read at any
time (WAL). What is asked for with every link found, whether the URL is known, is answered from a
bounded cache.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import msgspec
import zstandard

from gossamer.errors import CrawlError
from gossamer.model import Cause, HostKey, Outcome
from gossamer.stores.contract import Attempt, KeptPage, Link, PageRecord, Place, UrlRecord
from gossamer.stores.shelf import Begun, Counts, HostRecord, Known, Unscored
from gossamer.stores.sqlite.cache import KnownCache
from gossamer.stores.sqlite.guarded import GuardedConnection

_RECORD = """
    SELECT urls.id, url, hosts.key, hosts.domain, place, depth, parent, score, queue, outcome,
           coalesce(detail, ''), page, found_at, finished_at, attempts
    FROM urls JOIN hosts ON hosts.id = urls.host
"""


class SqliteShelf:
    """Keeps everything in one file."""

    def __init__(self, path: Path, *, cached_links: int = 200_000) -> None:
        try:
            self._db = sqlite3.connect(
                path, isolation_level=None, cached_statements=256, factory=GuardedConnection
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA cache_size = -65536")
            self._db.executescript(
                files("gossamer.stores.sqlite").joinpath("schema.sql").read_text("utf-8")
            )
        except (sqlite3.DatabaseError, CrawlError) as error:
            reason = error.__cause__ or error
            raise CrawlError(f"cannot use {path} as the store of a crawl: {reason}") from error
        self._cache = KnownCache(cached_links)
        self._hosts: dict[HostKey, int] = {}
        self._next_id = self._one("SELECT coalesce(max(id), 0) + 1 FROM urls")
        self._db.execute("BEGIN")

    def _one(self, query: str, *values: object) -> int:
        found = self._db.execute(query, values).fetchone()
        return int(found[0])

    def reshelve(self) -> None:
        """Shelve again what is dealt or in work."""
        self._db.execute(
            "UPDATE urls SET place = ? WHERE place IN (?, ?)",
            (Place.SHELVED, Place.DEALT, Place.IN_WORK),
        )

    def counts(self) -> Counts:
        """Count what there is."""
        outcomes = self._db.execute(
            "SELECT outcome, count(*) FROM urls WHERE place = ? GROUP BY outcome",
            (Place.FINISHED,),
        )
        return Counts(
            unscored=self._one("SELECT count(*) FROM urls WHERE place = 0"),
            outcomes={Outcome(name): count for name, count in outcomes},
            pages=self._one("SELECT count(*) FROM pages"),
            last_page=self._one("SELECT coalesce(max(id), 0) FROM pages"),
            gaps=self._gaps(),
        )

    def _gaps(self) -> list[int]:
        neighbours = self._db.execute(
            "SELECT before, id FROM (SELECT lag(id, 1, 0) OVER (ORDER BY id) AS before, id "
            "FROM pages) WHERE id > before + 1"
        )
        return [number for before, after in neighbours for number in range(before + 1, after)]

    def shelved_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return for each host and queue how many URLs are shelved."""
        return self._db.execute(
            "SELECT hosts.key, hosts.domain, queue, count(*) FROM urls "
            "JOIN hosts ON hosts.id = urls.host WHERE place = 1 GROUP BY urls.host, queue"
        ).fetchall()

    def known(self, key: bytes) -> Known | None:
        """Return the URL filed under that key."""
        cached = self._cache.by_key(key)
        return cached or self._load("key", key)

    def by_id(self, url_id: int) -> Known:
        """Return a URL that is there."""
        found = self._cache.by_id(url_id) or self._load("id", url_id)
        assert found is not None
        return found

    def _load(self, column: str, value: bytes | int) -> Known | None:
        row = self._db.execute(
            f"SELECT id, depth, place, finished_at, key FROM urls WHERE {column} = ?",  # noqa: S608 -- one of two names above
            (value,),
        ).fetchone()
        if row is None:
            return None
        return self._cache.keep(row[4], Known(row[0], row[1], Place(row[2]), row[3]))

    def insert(
        self, link: Link, place: Place, depth: int, parent: int | None, hops: int, now: float
    ) -> int:
        """Add a URL that is not there and return its id."""
        url_id = self._next_id
        self._next_id += 1
        self._db.execute(
            "INSERT INTO urls (id, url, key, host, place, depth, parent, hops, found_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (url_id, link.url, link.key, self._host(link), place, depth, parent, hops, now),
        )
        self._cache.keep(link.key, Known(url_id, depth, place, None))
        return url_id

    def _host(self, link: Link) -> int:
        host = self._hosts.get(link.host)
        if host is None:
            self._db.execute(
                "INSERT INTO hosts (key, domain, delay_s, next_start, failures) "
                "VALUES (?, ?, 0, 0, 0) ON CONFLICT DO NOTHING",
                (link.host, link.domain),
            )
            host = self._one("SELECT id FROM hosts WHERE key = ?", link.host)
            self._hosts[link.host] = host
        return host

    def move(self, url_id: int, place: Place) -> None:
        """Note where the URL stands now."""
        self._db.execute("UPDATE urls SET place = ? WHERE id = ?", (place, url_id))
        self._cache.place(url_id, place)

    def set_depth(self, url_id: int, depth: int, parent: int | None) -> None:
        """Note a shorter path."""
        self._db.execute(
            "UPDATE urls SET depth = ?, parent = ? WHERE id = ?", (depth, parent, url_id)
        )
        if (known := self._cache.by_id(url_id)) is not None:
            known.depth = depth

    def unscored(self, limit: int) -> list[Unscored]:
        """Return the first URLs of the URL queue, in the order of discovery."""
        rows = self._db.execute(
            "SELECT urls.id, url, hosts.key, hosts.domain, depth FROM urls "
            "JOIN hosts ON hosts.id = urls.host WHERE place = 0 ORDER BY urls.id LIMIT ?",
            (limit,),
        )
        return [Unscored(*row) for row in rows]

    def set_score(self, url_id: int, score: float, queue: int) -> bool:
        """Put a URL into a priority queue; False if it is not unscored any more."""
        changed = self._db.execute(
            "UPDATE urls SET score = ?, queue = ?, place = 1 WHERE id = ? AND place = 0",
            (score, queue, url_id),
        ).rowcount
        if changed:
            self._cache.place(url_id, Place.SHELVED)
        return bool(changed)

    def queue_of(self, url_id: int) -> int:
        """Return the priority queue of a scored URL."""
        return self._one("SELECT queue FROM urls WHERE id = ?", url_id)

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Take the best shelved URLs of a host in a queue: they are dealt from now on."""
        taken = self._db.execute(
            "SELECT score, id FROM urls WHERE host = ? AND queue = ? AND place = 1 "
            "ORDER BY score, id LIMIT ?",
            (self._host_id(host), queue, count),
        ).fetchall()
        for _, url_id in taken:
            self.move(url_id, Place.DEALT)
        return taken

    def _host_id(self, host: HostKey) -> int:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = self._one("SELECT id FROM hosts WHERE key = ?", host)
        return found

    def begin(self, url_id: int) -> Begun:
        """Note that work on the URL begins, and return what the work needs."""
        self.move(url_id, Place.IN_WORK)
        row = self._db.execute(
            "SELECT url, depth, attempts, hops FROM urls WHERE id = ?", (url_id,)
        ).fetchone()
        return Begun(*row)

    def finish(
        self, url_id: int, outcome: Outcome, detail: str, page_id: int | None, now: float
    ) -> None:
        """Note how the URL ended."""
        self._db.execute(
            "UPDATE urls SET place = 4, outcome = ?, detail = ?, page = ?, finished_at = ? "
            "WHERE id = ?",
            (outcome, detail or None, page_id, now, url_id),
        )
        self._cache.place(url_id, Place.FINISHED)
        if (known := self._cache.by_id(url_id)) is not None:
            known.finished_at = now

    def add_attempt(self, url_id: int, attempt: Attempt) -> None:
        """Append to the URL's history."""
        self._db.execute("UPDATE urls SET attempts = attempts + 1 WHERE id = ?", (url_id,))
        self._db.execute(
            "INSERT INTO attempts (url, at, outcome, cause, detail, status) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                url_id,
                attempt.at,
                attempt.outcome,
                attempt.cause.name if attempt.cause else None,
                attempt.detail,
                attempt.status,
            ),
        )

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""
        rows = self._db.execute(
            "SELECT at, outcome, cause, detail, status FROM attempts WHERE url = ? ORDER BY rowid",
            (url_id,),
        )
        return [
            Attempt(
                at=at,
                outcome=Outcome(outcome),
                cause=Cause[cause] if cause else None,
                detail=detail,
                status=status,
            )
            for at, outcome, cause, detail, status in rows
        ]

    def set_targets(self, url_id: int, targets: Sequence[int], redirect: bool) -> None:
        """Note where the links of a finished URL lead."""
        self._db.execute(
            "UPDATE urls SET targets = ?, redirect = ? WHERE id = ?",
            (array("q", targets).tobytes(), redirect, url_id),
        )

    def targets(self, url_id: int) -> tuple[Sequence[int], bool]:
        """Return where its links lead, and whether that is a redirect."""
        blob, redirect = self._db.execute(
            "SELECT coalesce(targets, x''), redirect FROM urls WHERE id = ?", (url_id,)
        ).fetchone()
        found = array("q")
        found.frombytes(blob)
        return found, bool(redirect)

    def outcome(self, url_id: int) -> Outcome | None:
        """Return how the URL ended, None while it has not."""
        (name,) = self._db.execute("SELECT outcome FROM urls WHERE id = ?", (url_id,)).fetchone()
        return None if name is None else Outcome(name)

    def page_of(self, url_id: int) -> int | None:
        """Return the number of the page kept for the URL."""
        (page,) = self._db.execute("SELECT page FROM urls WHERE id = ?", (url_id,)).fetchone()
        return None if page is None else int(page)

    def add_page(self, url_id: int, page: KeptPage, depth: int) -> None:
        """Keep a page and its content, and the depth that the modules were told."""
        self._db.execute(
            "INSERT INTO pages (id, url, size, digest, content_type, encoding, title, fetched_at, "
            "told_depth) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                page.page_id,
                url_id,
                page.size,
                page.digest,
                page.content_type,
                page.encoding,
                page.title,
                page.fetched_at,
                depth,
            ),
        )
        self._db.execute(
            "INSERT INTO contents (page, fetched_at, body) VALUES (?, ?, ?)",
            (page.page_id, page.fetched_at, page.content),
        )

    def set_told_depth(self, page_id: int, depth: int) -> None:
        """Note that the modules know a page's depth."""
        self._db.execute("UPDATE pages SET told_depth = ? WHERE id = ?", (depth, page_id))

    def untold(self) -> list[tuple[int, int]]:
        """Return the pages, by number, whose depth the modules do not know, with that depth."""
        return self._db.execute(
            "SELECT pages.id, depth FROM pages JOIN urls ON urls.id = pages.url "
            "WHERE told_depth <> depth"
        ).fetchall()

    def twin(self, digest: bytes, since: float) -> int | None:
        """Return a page of that content that was fetched after that moment."""
        found = self._db.execute(
            "SELECT id FROM pages WHERE digest = ? AND fetched_at > ? ORDER BY id DESC LIMIT 1",
            (digest, since),
        ).fetchone()
        return None if found is None else int(found[0])

    def expire_content(self, before: float, limit: int) -> int:
        """Drop contents fetched before that moment, at most so many; return how many."""
        return self._db.execute(
            "DELETE FROM contents WHERE page IN "
            "(SELECT page FROM contents WHERE fetched_at <= ? ORDER BY fetched_at LIMIT ?)",
            (before, limit),
        ).rowcount

    def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        found = self._db.execute("SELECT body FROM contents WHERE page = ?", (page_id,)).fetchone()
        return None if found is None else zstandard.decompress(found[0])

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        rows = self._db.execute(
            "SELECT pages.id, urls.url, depth, size, content_type, encoding, title, fetched_at "
            "FROM pages JOIN urls ON urls.id = pages.url ORDER BY pages.id"
        )
        for page_id, url, depth, size, content_type, encoding, title, fetched_at in rows:
            yield PageRecord(
                id=page_id,
                url=url,
                depth=depth,
                outcome=Outcome.FETCHED,
                bytes=size,
                content_type=content_type,
                encoding=encoding,
                title=title,
                fetched_at=fetched_at,
            )

    def records(self) -> Iterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""
        return map(_record, self._db.execute(f"{_RECORD} ORDER BY urls.id"))

    def record(self, key: bytes) -> UrlRecord | None:
        """Return all that is known of a URL."""
        row = self._db.execute(f"{_RECORD} WHERE urls.key = ?", (key,)).fetchone()
        return None if row is None else _record(row)

    def hosts(self) -> Iterable[HostRecord]:
        """Return the hosts as they were saved."""
        rows = self._db.execute("SELECT key, domain, delay_s, next_start, failures FROM hosts")
        for key, domain, delay_s, next_start, failures in rows.fetchall():
            yield HostRecord(
                key=key, domain=domain, delay_s=delay_s, next_start=next_start, failures=failures
            )

    def save_hosts(self, hosts: Sequence[HostRecord]) -> None:
        """Save hosts."""
        self._db.executemany(
            "UPDATE hosts SET delay_s = ?, next_start = ?, failures = ? WHERE key = ?",
            [(host.delay_s, host.next_start, host.failures, host.key) for host in hosts],
        )

    def get(self, name: str) -> bytes | None:
        """Return a note."""
        found = self._db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return None if found is None else bytes(found[0])

    def put(self, name: str, value: bytes) -> None:
        """Keep a note."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def commit(self) -> None:
        """Make what was written durable, whole."""
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def close(self) -> None:
        """Commit and let go."""
        try:
            self._db.execute("COMMIT")
        finally:
            self._db.close()


def _record(row: tuple[object, ...]) -> UrlRecord:
    names = UrlRecord.__struct_fields__
    record = dict(zip(names, row, strict=True))
    return msgspec.convert(record, UrlRecord)
