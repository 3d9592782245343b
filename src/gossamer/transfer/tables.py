"""The rows of a crawl in a file, as they are brought into Redis."""

import math
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from gossamer.stores.contract import UrlState
from gossamer.stores.redis.messages import PageNote, pack
from gossamer.stores.redis.records import REDIRECT, SCORED, HostRow, PackedAttempt, UrlRow

T = TypeVar("T")

# A duplicate of a page that was claimed and never kept must be visited again, as after a crash.
_URLS = """
SELECT id, key, url, host, state, depth, coalesce(parent, 0), hops, found_at, score,
       coalesce(outcome, ''), coalesce(page, 0), coalesce(duplicate_of, 0), finished_at, redirect,
       coalesce(targets, x''),
       duplicate_of IS NOT NULL AND duplicate_of NOT IN (SELECT id FROM pages)
FROM urls ORDER BY id
"""
_ATTEMPTS = """
SELECT url, at, outcome, coalesce(cause, ''), detail, status FROM attempts ORDER BY url, rowid
"""
_HOSTS = """
SELECT id, key, domain, next_start, failures, unanswered, coalesce(crawl_delay_s, 0.0),
       requests, failed, pages, took_s, coalesce(waiting, 0), known IS NOT NULL
FROM hosts LEFT JOIN (
    SELECT host, count(*) AS known, sum(state IN (1, 2, 3)) AS waiting FROM urls GROUP BY host
) ON host = hosts.id
ORDER BY id
"""
_SLOWEST = """
SELECT CAST(id AS TEXT), took_s / requests FROM hosts WHERE requests ORDER BY 2 DESC LIMIT ?
"""
_PAGES = """
SELECT id, url, size, digest, content_type, encoding, title, fetched_at FROM pages ORDER BY id
"""
_BODIES = """
SELECT pages.id, pages.fetched_at, contents.body
FROM pages CROSS JOIN contents ON contents.page = pages.id
WHERE pages.fetched_at > ? ORDER BY pages.id
"""
_MARKS = """
SELECT pages.id, pages.fetched_at, pages.digest, sketches.bands, sketches.sample
FROM pages LEFT JOIN sketches ON sketches.page = pages.id
WHERE pages.fetched_at > ? ORDER BY pages.id
"""
_PENDING_DEPTH_CHANGES = """
SELECT pages.id, pages.url FROM pages CROSS JOIN urls ON urls.id = pages.url
WHERE reported_depth <> depth
"""


class TableUrl(NamedTuple):
    """A row of `urls`."""

    id: int
    key: bytes
    url: str
    host: int
    state: int
    depth: int
    parent: int
    hops: int
    found_at: float
    score: float | None
    outcome: str
    page: int
    duplicate_of: int
    finished_at: float | None
    redirect: int
    targets: bytes
    is_orphan: int

    def links(self) -> list[int]:
        """Return where the links of the page lead."""
        found = array("q")
        found.frombytes(self.targets)
        return list(found)

    def record(self, attempts: Sequence[PackedAttempt]) -> UrlRow:
        """Return the record of the URL, on which nobody works."""
        state, score, duplicate_of = self.state, self.score, self.duplicate_of
        if self.is_orphan:
            state, score, duplicate_of = UrlState.UNSCORED, None, 0
        elif state in {UrlState.ASSIGNED, UrlState.LEASED}:
            state = UrlState.QUEUED
        is_finished = state == UrlState.DONE and self.finished_at is not None
        return UrlRow(
            state=state,
            hops=self.hops,
            depth=self.depth,
            finished=self.finished_at or 0.0 if is_finished else math.inf,
            host=self.host,
            parent=self.parent,
            flags=(REDIRECT if self.redirect else 0) | (0 if score is None else SCORED),
            score=score or 0.0,
            page=self.page,
            duplicate_of=duplicate_of,
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

    def note(self) -> bytes:
        """Return what Redis keeps of the page beside its content."""
        return pack(
            PageNote(
                size=self.size,
                digest=self.digest,
                content_type=self.content_type,
                encoding=self.encoding,
                title=self.title,
            )
        )


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


def urls(db: sqlite3.Connection) -> Iterator[tuple[TableUrl, list[PackedAttempt]]]:
    """Yield every URL with the attempts at it."""
    tries = _attempts(db)
    tried = next(tries, None)
    for url in map(TableUrl._make, db.execute(_URLS)):
        while tried is not None and tried[0] < url.id:
            tried = next(tries, None)
        yield url, tried[1] if tried is not None and tried[0] == url.id else []


def _attempts(db: sqlite3.Connection) -> Iterator[tuple[int, list[PackedAttempt]]]:
    for url_id, rows in groupby(db.execute(_ATTEMPTS), lambda row: int(row[0])):
        yield (
            url_id,
            [
                (at, outcome, cause, detail, False if status is None else status)
                for _, at, outcome, cause, detail, status in rows
            ],
        )


def attempted_between(db: sqlite3.Connection) -> tuple[float, float]:
    """Return when the first and the last attempt ended; zeros if there was none."""
    first, last = db.execute("SELECT min(at), max(at) FROM attempts").fetchone()
    return first or 0.0, last or 0.0


def hosts(db: sqlite3.Connection) -> Iterator[TableHost]:
    """Yield every host."""
    return map(TableHost._make, db.execute(_HOSTS))


def slowest(db: sqlite3.Connection, limit: int) -> dict[str, float]:
    """Return the hosts that took longest for a request, by number."""
    return dict(db.execute(_SLOWEST, (limit,)))


def credit(db: sqlite3.Connection) -> dict[str, float]:
    """Return the importance of the domains."""
    return dict(db.execute("SELECT name, credit FROM domains"))


def pages(db: sqlite3.Connection) -> Iterator[TablePage]:
    """Yield every page by its number."""
    return map(TablePage._make, db.execute(_PAGES))


def pending_depth_changes(db: sqlite3.Connection) -> dict[int, int]:
    """Return the pages of which the modules know another depth, with their URLs."""
    return dict(db.execute(_PENDING_DEPTH_CHANGES))


def bodies(db: sqlite3.Connection, since: float) -> Iterator[TableBody]:
    """Yield the contents of the pages that were fetched after that moment."""
    return map(TableBody._make, db.execute(_BODIES, (since,)))


def marks(db: sqlite3.Connection, since: float) -> Iterator[TableMark]:
    """Yield what the pages are known by that were fetched after that moment."""
    return map(TableMark._make, db.execute(_MARKS, (since,)))


def portions(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of that size."""
    line = iter(rows)
    while some := list(islice(line, size)):
        yield some
