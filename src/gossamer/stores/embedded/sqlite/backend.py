"""The backend in a SQLite file.

One connection writes, in a transaction that `commit` ends and starts again, so that everything
between two commits becomes durable together or not at all. Other processes may read at any time
(WAL). Rows that are not read again are written in batches.

**What can be lost.** The engine commits every 100 ms.

- `kill -9`, an exception, a full disk: everything since the last commit, so what was settled within
  100 ms plus the time of the commit itself. It is fetched again. Nothing committed is lost, because
  the operating system has it.
- A loss of power, a crash of the system: the log is not flushed at each commit
  (`synchronous=NORMAL`), only at each checkpoint, when it has grown to 32 MB. So the last commits
  can be missing: about 32 MB of log (some 1,000 to 2,000 pages), or what the system itself has
  not written back yet, on Linux about the last 30 seconds.

The order is never lost: a commit that survives has all those before it, and the file is valid.
Flushing each commit would block the crawl for the disk ten times a second, only to fetch fewer
pages again after a loss of power.
"""

import math
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.embedded.rows import Counts, KnownUrl, Repetition, UnscoredUrl
from gossamer.stores.embedded.sqlite.checkpoints import LOG_BYTES, Checkpoints
from gossamer.stores.embedded.sqlite.file import begin, explain, open_file
from gossamer.stores.embedded.sqlite.known_urls import SqliteKnownUrls
from gossamer.stores.embedded.sqlite.queries import (
    URL_COLUMNS,
    count_pages,
    read_number,
    read_reason,
    record,
)
from gossamer.stores.reasons import Reason
from gossamer.stores.url_record import Attempt, UrlRecord, UrlState


class SqliteBackend(SqliteKnownUrls):
    """The rows of a crawl in one SQLite file, or in memory."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(
        self,
        path: Path | None = None,
        *,
        cached_links: int = 100_000,
        log_bytes: int = LOG_BYTES,
    ) -> None:
        """Open the file at a path; None: keep everything in memory."""
        self._path = path or Path(":memory:")
        super().__init__(open_file(self._path), cached_links)
        self._checkpoints: Checkpoints | None = None
        if path is not None:
            self._checkpoints = Checkpoints(path, log_bytes)
        self._assigned: dict[int, tuple[Url, int, int]] = {}
        """The URLs in the workers' queues, with their number of attempts, by id."""

    def complaint(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        assert isinstance(error, sqlite3.Error)
        return explain(error, self._path)

    # -- opening ---------------------------------------------------------------------------------

    def requeue_all(self) -> list[Reason]:
        """Move all assigned and leased URLs back into their priority queues.

        And reopen those that repeat a page which was not kept; return why these had ended.
        """
        self._batch.write()
        self._db.execute("UPDATE urls SET state = 1 WHERE state IN (2, 3)")
        self._assigned.clear()
        self._cache.clear()
        orphans = self._db.execute(
            "SELECT id FROM urls WHERE duplicate_of IS NOT NULL "
            "AND duplicate_of NOT IN (SELECT id FROM pages)"
        ).fetchall()
        return [self.reopen(url_id) for (url_id,) in orphans]

    def counts(self) -> Counts:
        """Return the counters."""
        pages = count_pages(self._db)
        last_page = read_number(self._db, "SELECT coalesce(max(id), 0) FROM pages")
        return Counts(
            unscored=read_number(self._db, "SELECT count(*) FROM urls WHERE state = 0"),
            pages=pages,
            last_page=last_page,
            gaps=self._gaps() if pages < last_page else [],
        )

    def _gaps(self) -> list[int]:
        neighbours = self._db.execute(
            "SELECT before, id FROM (SELECT lag(id, 1, 0) OVER (ORDER BY id) AS before, id "
            "FROM pages) WHERE id > before + 1"
        )
        return [gap for before, after in neighbours for gap in range(before + 1, after)]

    def rebuild_queues(self, queue_of: Callable[[float], int]) -> None:
        """Move every scored URL to the queue of its score in a new table."""
        self._db.create_function("queue_of", 1, queue_of, deterministic=True)
        self._db.execute("UPDATE urls SET queue = queue_of(score) WHERE score IS NOT NULL")

    def queued_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return host, domain, queue and number of URLs, for each host and queue."""
        return self._db.execute(
            "SELECT hosts.key, hosts.domain, queue, count(*) FROM urls "
            "JOIN hosts ON hosts.id = urls.host WHERE state = 1 GROUP BY urls.host, queue"
        ).fetchall()

    # -- states ----------------------------------------------------------------------------------

    def move(self, url_id: int, state: UrlState) -> None:
        """Change the state of an unfinished URL."""
        more = ", score = NULL, queue = NULL" if state is UrlState.UNSCORED else ""
        self._db.execute(f"UPDATE urls SET state = ?{more} WHERE id = ?", (state, url_id))  # noqa: S608 -- one of two texts
        self._update_cache(url_id, state)

    def _update_cache(self, url_id: int, state: UrlState, finished_at: float = math.inf) -> None:
        """Update what is in memory about a URL after a change of its row."""
        known = self._cache.by_id(url_id)
        if known is not None:
            known.finished_at = finished_at
        self._batch.leased.discard(url_id)
        if state is not UrlState.ASSIGNED:
            self._assigned.pop(url_id, None)

    def reopen(self, url_id: int) -> Reason:
        """Make a finished URL unscored again, to be revisited; return why it had ended."""
        reason = read_reason(self._db, url_id, self._batch.write)
        self._db.execute(
            "UPDATE urls SET state = 0, score = NULL, queue = NULL, outcome = NULL, detail = NULL, "
            "duplicate_of = NULL, similarity = NULL, own_similarity = NULL, finished_at = NULL "
            "WHERE id = ?",
            (url_id,),
        )
        self._update_cache(url_id, UrlState.UNSCORED)
        return reason

    def ended_as(self, outcomes: Iterable[Outcome], ids: range) -> list[tuple[int, HostKey, str]]:
        """Return id, host and domain of those of the URLs that have ended in one of these ways."""
        return self._db.execute(
            "SELECT urls.id, hosts.key, hosts.domain FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE urls.id BETWEEN ? AND ? AND state = 4 "
            "AND outcome IN (SELECT value FROM json_each(?)) ORDER BY urls.id",
            (ids.start, ids.stop - 1, msgspec.json.encode(sorted(outcomes)).decode()),
        ).fetchall()

    def unscored(self, limit: int) -> list[UnscoredUrl]:
        """Return the first URLs of the URL queue."""
        rows = self._db.execute(
            "SELECT urls.id, urls.url, hosts.key, hosts.domain, depth, given_score, lastmod, "
            "priority FROM urls JOIN hosts ON hosts.id = urls.host "
            "LEFT JOIN listings ON listings.url = urls.id "
            "WHERE state = 0 ORDER BY urls.id LIMIT ?",
            (limit,),
        )
        return [*map(UnscoredUrl._make, rows)]

    def set_score(self, url_id: int, score: float, queue: int, state: UrlState) -> bool:
        """Score a URL and change its state; False if it is not unscored any more."""
        changed = self._db.execute(
            "UPDATE urls SET score = ?, queue = ?, state = ? WHERE id = ? AND state = 0",
            (score, queue, state, url_id),
        ).rowcount
        if changed:
            self._update_cache(url_id, state)
        return bool(changed)

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Assign the best queued URLs of a host in a queue; return them."""
        rows = self._db.execute(
            "SELECT score, id, url, attempts, deaths FROM urls "
            "WHERE host = ? AND queue = ? AND state = 1 ORDER BY score, id LIMIT ?",
            (self._host_id(host), queue, count),
        ).fetchall()
        self._db.executemany("UPDATE urls SET state = 2 WHERE id = ?", [(row[1],) for row in rows])
        for _, url_id, *assigned in rows:
            self._assigned[url_id] = tuple(assigned)
            self._update_cache(url_id, UrlState.ASSIGNED)
        return [(row[0], row[1]) for row in rows]

    def queue_position(self, url_id: int) -> tuple[HostKey, float, int]:
        """Return host, score and queue of a URL that was scored."""
        row: tuple[HostKey, float, int] = self._db.execute(
            "SELECT hosts.key, score, queue FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE urls.id = ?",
            (url_id,),
        ).fetchone()
        return row

    def begin(self, url_id: int) -> tuple[Url, int, int, KnownUrl]:
        """Mark a URL as leased; return it, its earlier attempts and deaths, and what is known."""
        assigned = self._assigned.pop(url_id, None)
        if assigned is None:
            query = "SELECT url, attempts, deaths FROM urls WHERE id = ?"
            assigned = self._db.execute(query, (url_id,)).fetchone()
        self._batch.leased.add(url_id)
        return *assigned, self.by_id(url_id)

    def urls_before(self, url_id: int, count: int) -> tuple[Url, ...]:
        """Return the last URLs before another on its path, as many as there are up to a count."""
        found: list[Url] = []
        query = "SELECT id, url FROM urls WHERE id = (SELECT parent FROM urls WHERE id = ?)"
        while len(found) < count and (row := self._db.execute(query, (url_id,)).fetchone()):
            url_id = row[0]
            found.append(row[1])
        return tuple(found[::-1])

    def retry(self, url_id: int, attempt: Attempt, score: float, queue: int) -> None:
        """Store a failed attempt, and queue the URL again with another score."""
        self._db.execute(
            "UPDATE urls SET state = 1, score = ?, queue = ?, attempts = attempts + 1 WHERE id = ?",
            (score, queue, url_id),
        )
        self._update_cache(url_id, UrlState.QUEUED)
        self._batch.add_attempt(url_id, attempt)

    def attempts_at(self, url_id: int) -> int:
        """Return how often a URL was tried."""
        return read_number(self._db, "SELECT attempts FROM urls WHERE id = ?", url_id)

    def has_redirected_once(self, url_id: int) -> bool:
        """Return whether a URL has ended as a redirect, for the first time."""
        self._batch.write()
        return (
            read_number(
                self._db,
                "SELECT count(*) FROM attempts JOIN urls ON urls.id = attempts.url "
                "WHERE urls.id = ?1 AND urls.outcome = ?2 AND attempts.outcome = ?2",
                *(url_id, Outcome.REDIRECTED),
            )
            == 1
        )

    def add_death(self, url_id: int) -> int:
        """Count a worker that the URL has crashed; return how many it has crashed."""
        self._db.execute("UPDATE urls SET deaths = deaths + 1 WHERE id = ?", (url_id,))
        return read_number(self._db, "SELECT deaths FROM urls WHERE id = ?", url_id)

    def finish(
        self,
        url_id: int,
        attempt: Attempt,
        targets: Sequence[int],
        page_id: int | None,
        repeats: Repetition,
        *,
        redirect: bool,
    ) -> None:
        """Store how the URL ended, with its page and the ids of the URLs that it links to.

        The page of an earlier visit stays if there is no other.
        """
        self._db.execute(
            "UPDATE urls SET state = 4, outcome = ?, detail = ?, page = coalesce(?, page), "
            "duplicate_of = ?, similarity = ?, own_similarity = ?, finished_at = ?, "
            "attempts = attempts + 1, targets = ?, redirect = ? WHERE id = ?",
            (
                attempt.outcome,
                attempt.detail or None,
                page_id,
                *repeats,
                attempt.at,
                array("q", targets).tobytes(),
                redirect,
                url_id,
            ),
        )
        self._update_cache(url_id, UrlState.DONE, attempt.at)
        self._batch.add_attempt(url_id, attempt)

    # -- reading, durability ---------------------------------------------------------------------

    def records(self) -> Iterator[UrlRecord]:
        """Yield everything known about every URL, in the order of discovery."""
        self._batch.write()
        query = f"{URL_COLUMNS} FROM urls JOIN hosts ON hosts.id = urls.host ORDER BY urls.id"
        return (record(UrlRecord, row) for row in self._db.execute(query))

    def for_reading(self) -> sqlite3.Connection:
        """Return the connection for whoever reads the tables; nothing becomes durable by that."""
        self._batch.write()
        return self._db

    def ready(self) -> bool:
        """Return whether a transaction is open, or could be opened now."""
        return self._db.in_transaction or self._begin()

    def _begin(self) -> bool:
        if self._checkpoints is not None and self._checkpoints.forbids_writing:
            return False
        return begin(self._db)

    def commit(self) -> None:
        """Make everything written so far durable, atomically."""
        self._batch.write()
        self._save_url_counts()
        for name, figure in msgspec.structs.asdict(self.figures).items():
            self.put(name, str(figure).encode())
        self._db.execute("COMMIT")
        if self._checkpoints is not None:
            self._checkpoints.after_commit()
        self._begin()  # if this fails, the next step begins one

    def close(self) -> None:
        """Close it; what was not committed is lost."""
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._db.close()
