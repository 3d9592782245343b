"""The tables into which a crawl from Redis is copied: those of a crawl in a file.

What is read again replaces the earlier row. Attempts, which are to be in the order of time, lie in
a table of their own until `finish`.
"""

import math
import sqlite3
from array import array
from collections.abc import Iterable, Mapping

from gossamer.frontier import QueueTable, SchedulerRules
from gossamer.stores.embedded.memory import EXPIRED_NOTE
from gossamer.stores.embedded.sqlite.queries import read_note, read_reasons
from gossamer.stores.reasons import REASONS_NOTE, pack_reason_counts
from gossamer.stores.redis.messages import PageNote
from gossamer.stores.redis.read_hosts import delay_of
from gossamer.stores.redis.records import (
    REDIRECT,
    SCORED,
    HostRow,
    UrlRow,
    read_targets,
    share_of,
)
from gossamer.stores.url_record import UrlState

_TRIES = """
CREATE TEMP TABLE tries (
    url, number, moment, at, outcome, cause, detail, status, PRIMARY KEY (url, number)
) WITHOUT ROWID
"""
_ATTEMPTS = """
INSERT INTO attempts SELECT url, at, outcome, cause, detail, status FROM tries
ORDER BY moment, url, number
"""
_REPORTED = (
    "UPDATE pages SET reported_depth = coalesce((SELECT depth FROM urls WHERE id = pages.url), 0)"
)

_HOST_URLS = """
UPDATE hosts SET urls = known FROM (SELECT host, count(*) AS known FROM urls GROUP BY host)
WHERE host = hosts.id
"""


class SqliteImporter:
    """Fills the tables, in a transaction that the caller ends."""

    def __init__(self, connection: sqlite3.Connection, queues: int) -> None:
        self._db = connection
        self._queue_of = QueueTable(queues).queue_of
        self._db.execute(_TRIES)

    def add(self, table: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Take rows into a table; one that was there is replaced."""
        if some := list(rows):
            marks = ", ".join("?" * len(some[0]))
            self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", some)  # noqa: S608 -- our own words

    def add_urls(self, urls: Iterable[tuple[int, UrlRow, bytes | None]]) -> None:
        """Take in URLs with where they lead."""
        rows: list[tuple[object, ...]] = []
        tries: list[tuple[object, ...]] = []
        for url_id, row, targets in urls:
            rows.append(self._url(url_id, row, targets))
            moment = -math.inf  # of one URL the attempts stay in order, whatever the clock did
            for number, (at, outcome, cause, detail, status) in enumerate(row.attempts):
                moment = max(moment, at)
                code = None if isinstance(status, bool) else status
                tries.append((url_id, number, moment, at, outcome, cause or None, detail, code))
        self.add("urls", rows)
        self.add("tries", tries)

    def _url(self, url_id: int, row: UrlRow, targets: bytes | None) -> tuple[object, ...]:
        is_finished = row.state == UrlState.DONE
        is_scored = bool(row.flags & SCORED)
        last = row.attempts[-1] if is_finished and row.attempts else None
        leads_to = None if targets is None else array("q", read_targets(targets)).tobytes()
        return (
            url_id,
            row.url,
            b"%016x" % url_id,  # until its key is known
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
            row.deaths,
            int(bool(row.flags & REDIRECT)),
            b"" if leads_to is None and last else leads_to,
            share_of(row.similarity),
            share_of(row.own_similarity),
            None,  # until its given score is known
        )

    def add_keys(self, keys: Iterable[tuple[bytes, int]]) -> None:
        """Take in under which keys URLs are known, when all URLs are there."""
        self._db.executemany("UPDATE urls SET key = ? WHERE id = ?", keys)

    def add_given_scores(self, scores: Iterable[tuple[float, int]]) -> None:
        """Take in the scores that came with links, when all URLs are there."""
        self._db.executemany("UPDATE urls SET given_score = ? WHERE id = ?", scores)

    def add_hosts(self, hosts: Iterable[tuple[int, HostRow]], rules: SchedulerRules) -> None:
        """Take in hosts."""
        self.add(
            "hosts",
            (
                (
                    number,
                    host.name,
                    host.domain,
                    delay_of(host, rules),
                    host.next,
                    host.failures,
                    host.unanswered,
                    host.crawl_delay or None,
                    host.requests,
                    host.failed,
                    host.pages,
                    host.took,
                    host.received,
                    0,  # until its URLs are counted
                    None,
                    0,
                    0.0,
                )
                for number, host in hosts
            ),
        )

    def add_page(self, number: int, at: float, url_id: int, note: PageNote) -> None:
        """Take in a page."""
        about = (note.size, note.digest, note.content_type, note.encoding, note.title)
        self.add("pages", [(number, url_id, *about, at, 0)])

    def forget_contents(self, numbers: Iterable[int]) -> None:
        """Forget the contents of pages, before they are taken in again."""
        rows = [(number,) for number in numbers]
        self._db.executemany("DELETE FROM contents WHERE page = ?", rows)

    def note_expired(self, before: float) -> None:
        """Note that the server has forgotten the contents of all pages fetched up to a moment."""
        found = self._db.execute("SELECT 1 FROM pages WHERE fetched_at <= ? LIMIT 1", (before,))
        if found.fetchone() is not None:
            earlier = float(read_note(self._db, EXPIRED_NOTE) or b"-inf")
            self.add("notes", [(EXPIRED_NOTE, str(max(before, earlier)).encode())])

    def add_relaxing(self, urls: Iterable[tuple[int, int]]) -> None:
        """Take in URLs that have come nearer and what they link to not yet, when all are there."""
        self._db.executemany(
            "INSERT INTO relaxing (url, depth, hops, done) "
            "SELECT id, depth, hops, ?2 FROM urls WHERE id = ?1",
            urls,
        )

    def finish(self, pending_depth_changes: Iterable[int], notes: Mapping[str, bytes]) -> None:
        """Complete the tables.

        Nobody knows which depth the modules have of a page whose new depth was not reported to them
        yet: it is taken to be one more than the new one.
        """
        self._db.execute(_ATTEMPTS)
        self._db.execute(_REPORTED)
        pending = [(number,) for number in pending_depth_changes]
        self._db.executemany(
            "UPDATE pages SET reported_depth = reported_depth + 1 WHERE id = ?", pending
        )
        self.add("notes", notes.items())
        self._db.execute(_HOST_URLS)
        self.add("notes", [(REASONS_NOTE, pack_reason_counts(read_reasons(self._db)))])
        self._db.execute("DROP TABLE temp.tries")
