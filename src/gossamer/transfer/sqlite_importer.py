"""The tables in which a crawl from Redis is looked at: those of a crawl in a file.

What is read in parts, and some of it again, lies in tables of its own first: there a row that comes
again replaces the earlier one. `finish` makes the crawl out of them.
"""

import math
import sqlite3
from array import array
from collections.abc import Iterable, Mapping
from itertools import groupby

from gossamer.frontier import QueueTable
from gossamer.stores.contract import UrlState
from gossamer.stores.redis.messages import PageNote
from gossamer.stores.redis.records import REDIRECT, SCORED, HostRow, UrlRow, read_targets

_DRAFTS = """
CREATE TEMP TABLE drafts (
    id INTEGER PRIMARY KEY, url, host, state, depth, parent, hops, found_at, score, queue, outcome,
    detail, page, duplicate_of, finished_at, attempts, redirect, targets
);
CREATE TEMP TABLE tries (
    url, number, moment, at, outcome, cause, detail, status, PRIMARY KEY (url, number)
) WITHOUT ROWID;
CREATE TEMP TABLE keys (id INTEGER PRIMARY KEY, key);
CREATE TEMP TABLE bands (page, position, band, PRIMARY KEY (page, position)) WITHOUT ROWID;
CREATE TEMP TABLE samples (page INTEGER PRIMARY KEY, sample);
"""

_URLS = """
INSERT INTO urls (
    id, url, key, host, state, depth, parent, hops, found_at, score, queue, outcome, detail, page,
    duplicate_of, finished_at, attempts, redirect, targets
)
SELECT id, url, coalesce(key, CAST(printf('%016x', id) AS BLOB)), host, state, depth, parent, hops,
       found_at, score, queue, outcome, detail, page, duplicate_of, finished_at, attempts,
       redirect, targets
FROM drafts LEFT JOIN keys USING (id) ORDER BY id
"""

_ATTEMPTS = """
INSERT INTO attempts SELECT url, at, outcome, cause, detail, status FROM tries
ORDER BY moment, url, number
"""

_SKETCHED = """
SELECT page, fetched_at, sample, band FROM samples JOIN pages ON pages.id = page
JOIN bands USING (page) ORDER BY page, position
"""

_REPORTED = (
    "UPDATE pages SET reported_depth = coalesce((SELECT depth FROM urls WHERE id = pages.url), 0)"
)


class SqliteImporter:
    """Fills the tables, in a transaction that the caller ends."""

    def __init__(self, connection: sqlite3.Connection, queues: int) -> None:
        self._db = connection
        self._queue_of = QueueTable(queues).queue_of
        for statement in _DRAFTS.split(";"):
            self._db.execute(statement)

    def add_urls(self, urls: Iterable[tuple[int, UrlRow, bytes | None]]) -> None:
        """Take in URLs with where they lead; one that was there is replaced."""
        drafts: list[tuple[object, ...]] = []
        tries: list[tuple[object, ...]] = []
        for url_id, row, targets in urls:
            drafts.append(self._draft(url_id, row, targets))
            moment = -math.inf  # of one URL the attempts stay in order, whatever the clock did
            for number, (at, outcome, cause, detail, status) in enumerate(row.attempts):
                moment = max(moment, at)
                code = None if isinstance(status, bool) else status
                tries.append((url_id, number, moment, at, outcome, cause or None, detail, code))
        marks = ", ".join("?" * 18)
        self._db.executemany(f"INSERT OR REPLACE INTO drafts VALUES ({marks})", drafts)  # noqa: S608 -- question marks
        self._db.executemany("INSERT OR REPLACE INTO tries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", tries)

    def _draft(self, url_id: int, row: UrlRow, targets: bytes | None) -> tuple[object, ...]:
        is_finished = row.state == UrlState.DONE
        is_scored = bool(row.flags & SCORED)
        last = row.attempts[-1] if is_finished and row.attempts else None
        leads_to = None if targets is None else array("q", read_targets(targets)).tobytes()
        return (
            url_id,
            row.url,
            row.host,
            row.state,
            row.depth,
            row.parent or None,
            row.hops,
            row.found,
            row.score if is_scored else None,
            self._queue_of(row.score) if is_scored else None,
            last[1] if last else None,
            last[3] or None if last else None,
            row.page or None,
            row.duplicate_of or None,
            row.finished if is_finished else None,
            len(row.attempts),
            int(bool(row.flags & REDIRECT)),
            b"" if leads_to is None and row.attempts and is_finished else leads_to,
        )

    def add_keys(self, keys: Iterable[tuple[bytes, int]]) -> None:
        """Take in under which keys URLs are known."""
        self._db.executemany("INSERT OR REPLACE INTO keys (key, id) VALUES (?, ?)", keys)

    def add_hosts(self, hosts: Iterable[tuple[int, HostRow]], delay_s: float) -> None:
        """Take in hosts; one that was there is replaced."""
        self._db.executemany(
            "INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    number,
                    host.name,
                    host.domain,
                    max(delay_s, host.crawl_delay),
                    host.next,
                    host.failures,
                    host.unanswered,
                    host.crawl_delay or None,
                    host.requests,
                    host.failed,
                    host.pages,
                    host.took,
                )
                for number, host in hosts
            ],
        )

    def add_credits(self, credit: Iterable[tuple[str, float]]) -> None:
        """Take in the credits of domains."""
        self._db.executemany("INSERT OR REPLACE INTO domains VALUES (?, ?)", credit)

    def add_pages(self, pages: Iterable[tuple[int, float, int, PageNote]]) -> None:
        """Take in pages: number, moment, URL, note."""
        self._db.executemany(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
            [
                (
                    number,
                    url_id,
                    note.size,
                    note.digest,
                    note.content_type,
                    note.encoding,
                    note.title,
                    at,
                )
                for number, at, url_id, note in pages
            ],
        )

    def add_bodies(self, bodies: Iterable[tuple[int, float, bytes]]) -> None:
        """Take in the contents of pages: number, moment, what is compressed."""
        self._db.executemany("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", bodies)

    def add_samples(self, samples: Iterable[tuple[int, bytes]]) -> None:
        """Take in what the similarity of pages is measured by."""
        self._db.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?)", samples)

    def add_bands(self, bands: Iterable[tuple[int, int, bytes]]) -> None:
        """Take in the bands of pages: number, position, band."""
        self._db.executemany("INSERT OR REPLACE INTO bands VALUES (?, ?, ?)", bands)

    def finish(self, pending_depth_changes: Iterable[int], notes: Mapping[str, bytes]) -> None:
        """Make the tables of the crawl out of the drafts.

        How deep the modules take a page that is not yet reported to be nobody knows; one more than
        it is.
        """
        self._db.execute(_URLS)
        self._db.execute(_ATTEMPTS)
        self._make_sketches()
        self._db.execute(_REPORTED)
        pages = [(number,) for number in pending_depth_changes]
        self._db.executemany(
            "UPDATE pages SET reported_depth = reported_depth + 1 WHERE id = ?", pages
        )
        self._db.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?)", notes.items())
        for name in ("drafts", "tries", "keys", "bands", "samples"):
            self._db.execute(f"DROP TABLE temp.{name}")

    def _make_sketches(self) -> None:
        rows = self._db.execute(_SKETCHED)
        for (page, fetched_at, sample), group in groupby(rows, lambda row: row[:3]):
            bands = b"".join(row[3] for row in group)
            values = (page, fetched_at, bands, sample)
            self._db.execute("INSERT INTO sketches VALUES (?, ?, ?, ?)", values)
