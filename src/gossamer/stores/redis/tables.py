"""The rows of a crawl in a file, as they are brought into Redis."""

import math
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from gossamer.stores.contract import Place
from gossamer.stores.redis.partitions import partition_of
from gossamer.stores.redis.records import REDIRECT, SCORED, HostRow, PackedAttempt, UrlRow

T = TypeVar("T")

# A CROSS JOIN goes from left to right: where pages come first, nothing finds them by their URL.
_WHOLE = """
CREATE TEMP VIEW moved_hosts AS SELECT id, 0 AS part, id AS number FROM hosts;
CREATE TEMP VIEW moved AS SELECT id, 0 AS part, id AS number FROM urls
"""
_DIVIDED = """
CREATE TEMP TABLE moved_hosts (id INTEGER PRIMARY KEY, part, number);
INSERT INTO moved_hosts SELECT id, part, row_number() OVER (PARTITION BY part ORDER BY id)
FROM (SELECT id, partition_of(domain) AS part FROM hosts);
CREATE TEMP TABLE moved (id INTEGER PRIMARY KEY, part, number);
INSERT INTO moved
SELECT id, part, row_number() OVER (PARTITION BY part ORDER BY id) * {count} + part
FROM (
    SELECT urls.id, coalesce(part, 0) AS part
    FROM urls LEFT JOIN moved_hosts ON moved_hosts.id = host
);
CREATE INDEX temp.moved_by_part ON moved (part, id)
"""
"""Where hosts and URLs go, and under which numbers."""

# A duplicate of a page that was claimed and never kept must be visited again, as after a crash.
_URLS = """
SELECT number, key, url,
       coalesce((SELECT number FROM moved_hosts WHERE moved_hosts.id = host), 0), place, depth,
       coalesce((SELECT number FROM moved AS other WHERE other.id = parent), 0), hops, found_at,
       score, coalesce(outcome, ''), coalesce(page, 0), coalesce(twin, 0), finished_at, redirect,
       coalesce(targets, x''), twin IS NOT NULL AND twin NOT IN (SELECT id FROM pages)
FROM moved CROSS JOIN urls ON urls.id = moved.id WHERE part = ? ORDER BY moved.id
"""
_ATTEMPTS = """
SELECT number, at, outcome, coalesce(cause, ''), detail, status
FROM moved CROSS JOIN attempts ON attempts.url = moved.id WHERE part = ?
ORDER BY number, attempts.rowid
"""
_HOSTS = """
SELECT number, key, domain, next_start, failures, unanswered, coalesce(crawl_delay_s, 0.0),
       requests, failed, pages, took_s, coalesce(waiting, 0), known IS NOT NULL
FROM moved_hosts JOIN hosts ON hosts.id = moved_hosts.id LEFT JOIN (
    SELECT host, count(*) AS known, sum(place IN (1, 2, 3)) AS waiting FROM urls GROUP BY host
) ON host = hosts.id
WHERE part = ? ORDER BY number
"""
_SLOWEST = """
SELECT CAST(number AS TEXT), took_s / requests
FROM moved_hosts JOIN hosts ON hosts.id = moved_hosts.id
WHERE part = ? AND requests ORDER BY 2 DESC LIMIT ?
"""
_PAGES = """
SELECT pages.id, number, size, digest, content_type, encoding, title, fetched_at
FROM pages CROSS JOIN moved ON moved.id = pages.url WHERE part = ? ORDER BY pages.id
"""
_BODIES = """
SELECT pages.id, pages.fetched_at, contents.body
FROM pages CROSS JOIN moved ON moved.id = pages.url CROSS JOIN contents ON contents.page = pages.id
WHERE part = ? AND pages.fetched_at > ? ORDER BY pages.id
"""
_MARKS = """
SELECT pages.id, pages.fetched_at, pages.digest, sketches.bands, sketches.sample
FROM pages LEFT JOIN sketches ON sketches.page = pages.id
WHERE pages.fetched_at > ? ORDER BY pages.id
"""
_UNTOLD = """
SELECT pages.id, number FROM pages CROSS JOIN moved ON moved.id = pages.url
CROSS JOIN urls ON urls.id = pages.url WHERE part = ? AND told_depth <> depth
"""


class TableUrl(NamedTuple):
    """A row of `urls`."""

    id: int
    key: bytes
    url: str
    host: int
    place: int
    depth: int
    parent: int
    hops: int
    found_at: float
    score: float | None
    outcome: str
    page: int
    twin: int
    finished_at: float | None
    redirect: int
    targets: bytes
    is_orphan: int

    def record(self, attempts: Sequence[PackedAttempt]) -> UrlRow:
        """Return the record of the URL, on which nobody works."""
        place, score, twin = self.place, self.score, self.twin
        if self.is_orphan:
            place, score, twin = Place.UNSCORED, None, 0
        elif place in {Place.DEALT, Place.IN_WORK}:
            place = Place.SHELVED
        is_finished = place == Place.FINISHED and self.finished_at is not None
        return UrlRow(
            place=place,
            hops=self.hops,
            depth=self.depth,
            finished=self.finished_at or 0.0 if is_finished else math.inf,
            host=self.host,
            parent=self.parent,
            flags=(REDIRECT if self.redirect else 0) | (0 if score is None else SCORED),
            score=score or 0.0,
            page=self.page,
            twin=twin,
            found=self.found_at,
            url=self.url,
            attempts=attempts,
        )


class TableHost(NamedTuple):
    """A row of `hosts`, with how many of its URLs have a score and wait."""

    id: int
    key: str
    domain: str
    next_start: float
    failures: int
    unanswered: int
    crawl_delay_s: float
    requests: int
    failed: int
    pages: int
    took_s: float
    waiting: int
    is_met: int

    def record(self) -> HostRow:
        """Return the record of the host; it is aside if anything waits."""
        return HostRow(
            name=self.key,
            domain=self.domain,
            next=self.next_start,
            failures=self.failures,
            unanswered=self.unanswered,
            crawl_delay=self.crawl_delay_s,
            requests=self.requests,
            failed=self.failed,
            pages=self.pages,
            took=self.took_s,
            waiting=self.waiting,
            aside=self.waiting > 0,
        )


class TablePage(NamedTuple):
    """A row of `pages`."""

    id: int
    url: int
    size: int
    digest: bytes
    content_type: str
    encoding: str
    title: str
    fetched_at: float


class TableBody(NamedTuple):
    """The content of a page."""

    id: int
    fetched_at: float
    body: bytes


class TableMark(NamedTuple):
    """What a content is known by for a time."""

    id: int
    fetched_at: float
    digest: bytes
    bands: bytes | None
    sample: bytes | None


def divide(db: sqlite3.Connection, partitions: int) -> None:
    """Decide where everything goes; before all else."""

    def home(domain: str) -> int:
        return partition_of(domain, partitions)

    db.create_function("partition_of", 1, home, deterministic=True)
    statements = _WHOLE if partitions == 1 else _DIVIDED.format(count=partitions)
    for statement in statements.split(";"):
        db.execute(statement)


def urls(db: sqlite3.Connection, part: int) -> Iterator[tuple[TableUrl, list[PackedAttempt]]]:
    """Yield every URL of a partition with the attempts at it."""
    tries = _attempts(db, part)
    tried = next(tries, None)
    for url in map(TableUrl._make, db.execute(_URLS, (part,))):
        while tried is not None and tried[0] < url.id:
            tried = next(tries, None)
        yield url, tried[1] if tried is not None and tried[0] == url.id else []


def _attempts(db: sqlite3.Connection, part: int) -> Iterator[tuple[int, list[PackedAttempt]]]:
    for url_id, rows in groupby(db.execute(_ATTEMPTS, (part,)), lambda row: int(row[0])):
        yield (
            url_id,
            [
                (at, outcome, cause, detail, False if status is None else status)
                for _, at, outcome, cause, detail, status in rows
            ],
        )


class Targets:
    """Tells where links lead that a table has by its own numbers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        (last,) = db.execute("SELECT coalesce(max(id), 0) FROM urls").fetchone()
        self._number = array("q", [0]) * (last + 1)
        self._part = array("H", [0]) * (last + 1)
        for url_id, part, number in db.execute("SELECT id, part, number FROM moved"):
            self._number[url_id], self._part[url_id] = number, part

    def sorted_out(self, targets: bytes, part: int) -> tuple[list[int], list[tuple[int, bytes]]]:
        """Return the URLs of the same partition, and partition and key of the others."""
        found = array("q")
        found.frombytes(targets)
        own = [self._number[one] for one in found if self._part[one] == part]
        others = [one for one in found if self._part[one] != part]
        return own, [(self._part[one], self._key(one)) for one in others]

    def _key(self, url_id: int) -> bytes:
        (found,) = self._db.execute("SELECT key FROM urls WHERE id = ?", (url_id,)).fetchone()
        return bytes(found)


def hosts(db: sqlite3.Connection, part: int) -> Iterator[TableHost]:
    """Yield every host of a partition."""
    return map(TableHost._make, db.execute(_HOSTS, (part,)))


def slowest(db: sqlite3.Connection, part: int, limit: int) -> dict[str, float]:
    """Return the hosts of a partition that took longest for a request, by number."""
    return dict(db.execute(_SLOWEST, (part, limit)))


def credit(db: sqlite3.Connection, part: int) -> dict[str, float]:
    """Return the importance of the domains of a partition."""
    query = "SELECT name, credit FROM domains WHERE partition_of(name) = ?"
    return dict(db.execute(query, (part,)))


def pages(db: sqlite3.Connection, part: int) -> Iterator[TablePage]:
    """Yield every page of a partition by its number."""
    return map(TablePage._make, db.execute(_PAGES, (part,)))


def untold(db: sqlite3.Connection, part: int) -> dict[int, int]:
    """Return the pages of which the modules know another depth, with their URLs."""
    return dict(db.execute(_UNTOLD, (part,)))


def bodies(db: sqlite3.Connection, part: int, since: float) -> Iterator[TableBody]:
    """Yield the contents of the pages of a partition that were fetched after that moment."""
    return map(TableBody._make, db.execute(_BODIES, (part, since)))


def marks(db: sqlite3.Connection, since: float) -> Iterator[TableMark]:
    """Yield what the pages are known by that were fetched after that moment."""
    return map(TableMark._make, db.execute(_MARKS, (since,)))


def portions(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of that size."""
    line = iter(rows)
    while some := list(islice(line, size)):
        yield some
