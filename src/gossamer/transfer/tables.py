"""The rows of a crawl in a file, as the records that Redis has of them."""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from gossamer.stores.listing import Listing
from gossamer.stores.reasons import Reason
from gossamer.stores.redis.messages import PageNote, pack
from gossamer.stores.redis.records import (
    GIVEN_SCORE,
    LISTED,
    PARTS,
    REDIRECT,
    SCORED,
    HostRow,
    ResultRow,
    UrlRow,
    write_page,
    write_result,
)

T = TypeVar("T")

# Nobody works on the crawl: what was assigned or in progress waits again. A duplicate of a page
# that was claimed and never kept must be visited again, as after a crash.
_URLS = """
WITH found AS (
    SELECT *, duplicate_of IS NOT NULL AND duplicate_of NOT IN (SELECT id FROM pages) AS is_orphan
    FROM urls
)
SELECT id, key, coalesce(outcome, ''), coalesce(targets, x''),
       CASE WHEN is_orphan THEN 0 WHEN state IN (2, 3) THEN 1 ELSE state END, hops, depth,
       CASE WHEN state = 4 AND NOT is_orphan THEN coalesce(finished_at, 9e999) ELSE 9e999 END,
       host, coalesce(parent, 0), deaths,
       (redirect <> 0) * :redirect | (score IS NOT NULL AND NOT is_orphan) * :scored
           | (given_score IS NOT NULL) * :given | (id IN (SELECT url FROM listings)) * :listed,
       CASE WHEN is_orphan THEN 0.0 ELSE coalesce(score, 0.0) END, coalesce(page, 0),
       CASE WHEN is_orphan THEN 0 ELSE coalesce(duplicate_of, 0) END,
       CAST(round(coalesce(similarity, 0) * :parts) AS INTEGER) * (NOT is_orphan),
       CAST(round(coalesce(own_similarity, 0) * :parts) AS INTEGER) * (NOT is_orphan),
       found_at, url
FROM found ORDER BY id
"""
_ATTEMPTS = """
SELECT at, outcome, coalesce(cause, ''), detail, status FROM attempts WHERE url = ? ORDER BY rowid
"""
_HOSTS = """
SELECT id, known IS NOT NULL AS is_met, key AS name, domain, next_start AS next, failures,
       unanswered, coalesce(crawl_delay_s, 0.0) AS crawl_delay, requests, failed, pages,
       took_s AS took, delay_s AS delay, received, coalesce(waiting, 0) AS waiting
FROM hosts LEFT JOIN (
    SELECT host, count(*) AS known, sum(state IN (1, 2, 3)) AS waiting FROM urls GROUP BY host
) ON host = hosts.id
ORDER BY id
"""
_PAGES = """
SELECT id, url, fetched_at, size, digest, content_type, encoding, title FROM pages ORDER BY id
"""


class TableUrl(NamedTuple):
    """A row of `urls`, with the record of it."""

    id: int
    key: bytes
    reason: str
    """Why it has ended; empty: it has not."""
    links: list[int]
    """Where the links of the page lead."""
    record: UrlRow


class TableHost(NamedTuple):
    """A row of `hosts`, with the record of it."""

    id: int
    is_met: bool
    """Whether a URL of the host is known."""
    record: HostRow


def urls(db: sqlite3.Connection) -> Iterator[TableUrl]:
    """Yield every URL with the attempts at it."""
    flags = {"redirect": REDIRECT, "scored": SCORED, "given": GIVEN_SCORE, "listed": LISTED}
    for url_id, key, outcome, targets, *record in db.execute(_URLS, {**flags, "parts": PARTS}):
        attempts = [
            (*tried, False if status is None else status)
            for *tried, status in db.execute(_ATTEMPTS, (url_id,))
        ]
        links = array("q", targets).tolist()
        reason = _reason(*attempts[-1]) if outcome and attempts else outcome
        yield TableUrl(url_id, key, reason, links, UrlRow._make([*record, attempts]))


def _reason(_at: float, outcome: str, cause: str, _detail: str, status: int | bool) -> str:
    return str(Reason.of(outcome, cause, None if isinstance(status, bool) else status))


def listings(db: sqlite3.Connection) -> Iterator[tuple[int, Listing]]:
    """Yield the ids of the URLs of which a sitemap says something, each with that."""
    for url_id, *said in db.execute("SELECT url, lastmod, priority, sitemap_of FROM listings"):
        yield url_id, Listing(*said)


def hosts(db: sqlite3.Connection) -> Iterator[TableHost]:
    """Yield every host; it is aside if anything waits."""
    for row in _named(db.execute(_HOSTS)):
        number, is_met = row.pop("id"), bool(row.pop("is_met"))
        yield TableHost(number, is_met, HostRow(**row, aside=row["waiting"] > 0))


def pages(db: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the packed record of every page."""
    for row in _named(db.execute(_PAGES)):
        number, url_id, fetched_at = row.pop("id"), row.pop("url"), row.pop("fetched_at")
        yield number, write_page(fetched_at, url_id, pack(PageNote(**row)))


def results(db: sqlite3.Connection) -> Iterator[bytes]:
    """Yield every result of the log, packed; rows stay behind, as they can be made again."""
    query = "SELECT url, coalesce(page, 0), settled_at, coalesce(records, x''), part FROM results"
    return (write_result(ResultRow(*row)) for row in db.execute(f"{query} ORDER BY number"))


def _named(rows: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    names = [column[0] for column in rows.description]
    return (dict(zip(names, row, strict=True)) for row in rows)


def portions(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of that size."""
    line = iter(rows)
    while some := list(islice(line, size)):
        yield some
