"""URLs in a file of SQLite.

One connection writes, in one transaction that `commit` ends and starts over, so that whatever
happened between two commits becomes durable together or not at all. Other processes may read at any
time (WAL). What is asked for with every link found, whether the URL is known, is answered from a
bounded cache; what nobody asks for again is written in batches.

**What can be lost.** The engine commits every 100 ms.

- `kill -9`, an exception, a full disk: everything since the last commit, so what was settled in at
  most 100 ms, plus the time the commit itself takes. It is fetched again. Nothing committed is
  lost, because the operating system has it.
- A loss of power, a crash of the system: the log is not flushed at each commit
  (`synchronous=NORMAL`), only when it is carried over into the file, each time it has grown to
  32 MB. So the last commits can be missing: at most 32 MB of log (some 1,000 to 2,000 pages), or
  what the system itself has not written back yet, on Linux about the last 30 seconds.

Never lost is the order: a commit that is there has all those before it, and the file is whole. To
flush each commit would add ten waits for the disk in every second, in which nothing else happens,
to make the second window as small as the first: of a crawl, only fetching again depends on it.
"""

import math
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, Link, UrlRecord, UrlState
from gossamer.stores.embedded.backend import Begun, Counts, Ending, Found, Known, Unscored, Visited
from gossamer.stores.embedded.sqlite.cache import KnownCache
from gossamer.stores.embedded.sqlite.file import begin, explain, open_file
from gossamer.stores.embedded.sqlite.pages import SqlitePages
from gossamer.stores.embedded.sqlite.reader import SqliteReader

_KNOWN = "SELECT id, key, depth, hops, state, coalesce(finished_at, 9e999) FROM urls"


class SqliteBackend(SqlitePages):
    """Keeps everything in one file."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, *, cached_links: int = 200_000) -> None:
        super().__init__(open_file(path))
        self._path = path
        self._cache = KnownCache(cached_links)
        self._assigned: dict[int, tuple[Url, int]] = {}
        """The URLs in the workers' queues: text and number of attempts."""
        self._next_id = self._number("SELECT coalesce(max(id), 0) + 1 FROM urls")

    def complaint(self, error: Exception) -> str:
        """Say in a sentence for people what an error means."""
        assert isinstance(error, sqlite3.Error)
        return explain(error, self._path)

    # -- taking over -----------------------------------------------------------------------------

    def requeue_all(self) -> None:
        """Shelve again what is assigned or in progress."""
        self._batch.write()
        self._db.execute("UPDATE urls SET state = 1 WHERE state IN (2, 3)")
        self._assigned.clear()
        self._cache.clear()
        orphans = self._db.execute(
            "SELECT id FROM urls WHERE duplicate_of IS NOT NULL "
            "AND duplicate_of NOT IN (SELECT id FROM pages)"
        ).fetchall()
        for (url_id,) in orphans:
            self.reopen(url_id)

    def counts(self) -> Counts:
        """Count what there is."""
        outcomes = self._db.execute(
            "SELECT outcome, count(*) FROM urls WHERE state = 4 GROUP BY outcome"
        )
        return Counts(
            unscored=self._number("SELECT count(*) FROM urls WHERE state = 0"),
            outcomes={Outcome(name): count for name, count in outcomes},
            hosts=self._host_count,
            pages=self._number("SELECT count(*) FROM pages"),
            last_page=self._number("SELECT coalesce(max(id), 0) FROM pages"),
            gaps=self._gaps(),
            bytes=self._bytes,
        )

    def refile(self, queue_of: Callable[[float], int]) -> None:
        """Move every scored URL to the queue that a new table has for its score."""
        self._db.create_function("queue_of", 1, queue_of, deterministic=True)
        self._db.execute("UPDATE urls SET queue = queue_of(score) WHERE score IS NOT NULL")

    def _gaps(self) -> list[int]:
        neighbours = self._db.execute(
            "SELECT before, id FROM (SELECT lag(id, 1, 0) OVER (ORDER BY id) AS before, id "
            "FROM pages) WHERE id > before + 1"
        )
        return [number for before, after in neighbours for number in range(before + 1, after)]

    def queued_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return for each host and queue how many URLs are queued."""
        return self._db.execute(
            "SELECT hosts.key, hosts.domain, queue, count(*) FROM urls "
            "JOIN hosts ON hosts.id = urls.host WHERE state = 1 GROUP BY urls.host, queue"
        ).fetchall()

    # -- links -----------------------------------------------------------------------------------

    def at_hand(self, keys: Iterable[bytes]) -> list[Known | None]:
        """Return the URLs filed under these keys that are in the cache."""
        return self._cache.by_keys(keys)

    def known(self, key: bytes) -> Known | None:
        """Return the URL filed under that key."""
        return self._cache.by_key(key) or self._load(f"{_KNOWN} WHERE key = ?", key)

    def by_id(self, url_id: int) -> Known:
        """Return a URL that is there."""
        found = self._cache.by_id(url_id) or self._load(f"{_KNOWN} WHERE id = ?", url_id)
        assert found is not None
        return found

    def _load(self, query: str, value: bytes | int) -> Known | None:
        row = self._db.execute(query, (value,)).fetchone()
        if row is None:
            return None
        url_id, key, depth, hops, state, finished_at = row
        return self._cache.keep(Known(url_id, key, depth, hops, UrlState(state), finished_at))

    def insert(self, link: Link, state: UrlState, found: Found, now: float) -> int | None:
        """Add a URL and return its id; None if it is there already."""
        url_id, key = self._next_id, link.key
        added = self._db.execute(
            "INSERT INTO urls (id, url, key, host, state, depth, parent, hops, found_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                url_id,
                link.url,
                key,
                self._host_id(link.host, link.domain),
                state,
                found.depth,
                found.parent,
                found.hops,
                now,
            ),
        ).rowcount
        if not added:
            return None
        self._next_id += 1
        self._cache.keep(Known(url_id, key, found.depth, found.hops, state))
        return url_id

    def set_path(self, url_id: int, found: Found) -> None:
        """Note a shorter path."""
        self._db.execute(
            "UPDATE urls SET depth = ?, hops = ?, parent = ? WHERE id = ?",
            (found.depth, found.hops, found.parent, url_id),
        )
        if (known := self._cache.by_id(url_id)) is not None:
            known.depth, known.hops = found.depth, found.hops

    def visited(self, url_id: int) -> Visited:
        """Return what the last visit to a URL has left."""
        page_id, blob, redirect = self._db.execute(
            "SELECT page, coalesce(targets, x''), redirect FROM urls WHERE id = ?", (url_id,)
        ).fetchone()
        targets = array("q")
        targets.frombytes(blob)
        return Visited(page_id, targets, bool(redirect))

    # -- places ----------------------------------------------------------------------------------

    def move(self, url_id: int, state: UrlState) -> None:
        """Note that a URL that is not finished stands elsewhere now."""
        keep = "" if state is not UrlState.UNSCORED else ", score = NULL, queue = NULL"
        self._db.execute(f"UPDATE urls SET state = ?{keep} WHERE id = ?", (state, url_id))  # noqa: S608 -- one of two texts
        self._stands(url_id, state)

    def _stands(self, url_id: int, state: UrlState, finished_at: float = math.inf) -> None:
        """Keep what is remembered of a URL in step with its row."""
        known = self._cache.by_id(url_id)
        if known is not None:
            known.state, known.finished_at = state, finished_at
        self._batch.begun.discard(url_id)
        if state is not UrlState.ASSIGNED:
            self._assigned.pop(url_id, None)

    def reopen(self, url_id: int) -> Outcome:
        """Let a finished URL be visited again; return how it had ended."""
        (outcome,) = self._db.execute("SELECT outcome FROM urls WHERE id = ?", (url_id,)).fetchone()
        self._db.execute(
            "UPDATE urls SET state = 0, score = NULL, queue = NULL, outcome = NULL, detail = NULL, "
            "duplicate_of = NULL, finished_at = NULL WHERE id = ?",
            (url_id,),
        )
        self._stands(url_id, UrlState.UNSCORED)
        return Outcome(outcome)

    def unscored(self, limit: int) -> list[Unscored]:
        """Return the first URLs of the URL queue."""
        rows = self._db.execute(
            "SELECT urls.id, url, hosts.key, hosts.domain, depth FROM urls "
            "JOIN hosts ON hosts.id = urls.host WHERE state = 0 ORDER BY urls.id LIMIT ?",
            (limit,),
        )
        return [Unscored(*row) for row in rows]

    def set_score(self, url_id: int, score: float, queue: int, state: UrlState) -> bool:
        """Score a URL and move it there; False if it is not unscored any more."""
        changed = self._db.execute(
            "UPDATE urls SET score = ?, queue = ?, state = ? WHERE id = ? AND state = 0",
            (score, queue, state, url_id),
        ).rowcount
        if changed:
            self._stands(url_id, state)
        return bool(changed)

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Take the best queued URLs of a host in a queue: they are assigned from now on."""
        rows = self._db.execute(
            "SELECT score, id, url, attempts FROM urls WHERE host = ? AND queue = ? AND state = 1 "
            "ORDER BY score, id LIMIT ?",
            (self._host_id(host), queue, count),
        ).fetchall()
        self._db.executemany("UPDATE urls SET state = 2 WHERE id = ?", [(row[1],) for row in rows])
        for _, url_id, url, attempts in rows:
            self._assigned[url_id] = (url, attempts)
            self._stands(url_id, UrlState.ASSIGNED)
        return [(score, url_id) for score, url_id, _, _ in rows]

    def filed(self, url_id: int) -> tuple[HostKey, float, int]:
        """Return host, score and queue of a URL that was scored."""
        row: tuple[HostKey, float, int] = self._db.execute(
            "SELECT hosts.key, score, queue FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE urls.id = ?",
            (url_id,),
        ).fetchone()
        return row

    def begin(self, url_id: int) -> Begun:
        """Note that work on the URL begins, and return what the work needs."""
        assigned = self._assigned.pop(url_id, None)
        if assigned is None:
            query = "SELECT url, attempts FROM urls WHERE id = ?"
            assigned = self._db.execute(query, (url_id,)).fetchone()
        known = self.by_id(url_id)
        known.state = UrlState.LEASED
        self._batch.begun.add(url_id)
        return Begun(assigned[0], known.depth, assigned[1], known.hops)

    def retry(self, url_id: int, attempt: Attempt, score: float, queue: int) -> None:
        """Note an attempt after which the URL waits again, queued with another score."""
        self._db.execute(
            "UPDATE urls SET state = 1, score = ?, queue = ?, attempts = attempts + 1 WHERE id = ?",
            (score, queue, url_id),
        )
        self._stands(url_id, UrlState.QUEUED)
        self._batch.attempts.append(_attempt_row(url_id, attempt))

    def finish(self, url_id: int, ending: Ending) -> None:
        """Note how the URL ended."""
        attempt = ending.attempt
        self._db.execute(
            "UPDATE urls SET state = 4, outcome = ?, detail = ?, page = ?, duplicate_of = ?, "
            "finished_at = ?, attempts = attempts + 1, targets = ?, redirect = ? WHERE id = ?",
            (
                attempt.outcome,
                attempt.detail or None,
                ending.page_id,
                ending.duplicate_of,
                attempt.at,
                array("q", ending.targets).tobytes(),
                ending.redirect,
                url_id,
            ),
        )
        self._stands(url_id, UrlState.DONE, attempt.at)
        self._batch.attempts.append(_attempt_row(url_id, attempt))

    # -- looking on, durability ------------------------------------------------------------------

    def records(self) -> Iterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""
        self._batch.write()
        rows = self._db.execute(
            "SELECT urls.id, url, hosts.key, domain, state, depth, parent, score, queue, outcome, "
            "coalesce(detail, ''), page, found_at, finished_at, attempts, duplicate_of "
            "FROM urls JOIN hosts ON hosts.id = urls.host ORDER BY urls.id"
        )
        names = UrlRecord.__struct_fields__
        return (msgspec.convert(dict(zip(names, row, strict=True)), UrlRecord) for row in rows)

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""
        self._batch.write()
        return SqliteReader(self._db).attempts(url_id)

    def ready(self) -> bool:
        """Tell whether a transaction is open, or could be opened now."""
        return self._db.in_transaction or begin(self._db)

    def commit(self) -> None:
        """Make what was written durable, whole."""
        self._batch.write()
        self.put("bytes", str(self._bytes).encode())
        self._db.execute("COMMIT")
        begin(self._db)  # if it cannot, the next step does

    def close(self) -> None:
        """Let go; what was not committed is lost."""
        self._db.close()


def _attempt_row(url_id: int, attempt: Attempt) -> tuple[object, ...]:
    cause = attempt.cause.name if attempt.cause else None
    return (url_id, attempt.at, attempt.outcome, cause, attempt.detail, attempt.status)
