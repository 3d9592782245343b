"""What there is to know of a crawl from its file, for people and programs that look on."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Literal, NamedTuple, TypeVar

import msgspec
import zstandard

from gossamer.errors import CrawlError
from gossamer.model import Cause, HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, PageRecord, UrlRecord, UrlState
from gossamer.stores.embedded.backend import HostRecord

Record = TypeVar("Record", bound=msgspec.Struct)

State = Literal["waiting", "in_progress", "finished", "too_deep"]
"""Where a URL stands, for people: three of its places are waiting."""

_URL = """
    SELECT urls.id, url, hosts.key AS host, domain, state, depth, parent, score, queue, outcome,
           coalesce(detail, '') AS detail, page AS page_id, found_at, finished_at, attempts,
           duplicate_of AS duplicate_of
    FROM urls JOIN hosts ON hosts.id = urls.host
"""
_PAGE = """
    SELECT pages.id, urls.url, depth, 'fetched' AS outcome, size AS bytes, content_type, encoding,
           title, fetched_at
    FROM pages JOIN urls ON urls.id = pages.url
"""


def state_of(state: UrlState) -> State:
    """Return what the state is called when shown to people."""
    match state:
        case UrlState.LEASED:
            return "in_progress"
        case UrlState.DONE:
            return "finished"
        case UrlState.TOO_DEEP:
            return "too_deep"
        case _:
            return "waiting"


_STATES = " ".join(f"WHEN {int(state)} THEN '{state_of(state)}'" for state in UrlState)
_NAMES = " ".join(f"WHEN {int(state)} THEN '{state.name.lower()}'" for state in UrlState)


class StateCount(NamedTuple):
    """How many URLs have these four in common."""

    state: int
    outcome: str | None
    depth: int
    queue: int | None
    urls: int


class BusyHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host of which URLs wait or are in progress."""

    host: HostKey
    left: int
    """How many of its URLs are not finished."""
    delay_s: float
    next_start: float
    failures: int


class Step(msgspec.Struct, frozen=True):
    """A URL on the way from a seed."""

    url: Url
    depth: int
    over: str
    """How it was reached: as a `seed`, over a `link` or over a `redirect`."""


class ListedUrl(msgspec.Struct, frozen=True):
    """A URL in a list."""

    id: int | None
    """The number of its page, if it has one."""
    url: Url
    depth: int
    outcome: str | None
    bytes: int | None
    """The size of its page."""
    state: State
    url_state: str
    host: HostKey
    score: float | None
    queue: int | None
    attempts: int
    detail: str
    found_at: float
    finished_at: float | None


class SqliteReader:
    """Answers questions about a crawl over a connection that `reading` gave."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def note(self, name: str) -> bytes | None:
        """Return a note."""
        found = self._db.execute(
            "SELECT CAST(value AS BLOB) FROM notes WHERE name = ?", (name,)
        ).fetchone()
        return None if found is None else bytes(found[0])

    # -- counting --------------------------------------------------------------------------------

    def state_counts(self) -> list[StateCount]:
        """Return how many URLs there are of each state, outcome, depth and queue."""
        # SQLite would sort all rows to group them, in memory.
        counted = Counter(self._db.execute("SELECT state, outcome, depth, queue FROM urls"))
        return [StateCount._make((*common, urls)) for common, urls in counted.items()]

    def unfinished(self) -> int:
        """Return how many URLs wait or are in progress."""
        return self._number("SELECT count(*) FROM urls WHERE state < 4")

    def host_count(self) -> int:
        """Return how many hosts there are."""
        return self._number("SELECT count(*) FROM hosts")

    def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return self._number("SELECT coalesce(max(id), 0) FROM pages")

    def page_count(self) -> int:
        """Return how many pages are kept."""
        return self._number("SELECT count(*) FROM pages")

    def largest_page(self) -> int:
        """Return the size of the largest page; 0 when there is none."""
        return self._number("SELECT coalesce(max(size), 0) FROM pages")

    def busiest_hosts(self, limit: int) -> list[BusyHost]:
        """Return the hosts with most left to do."""
        # An index has those in the priority queues by host; the others are few.
        rows = self._db.execute(
            """
            SELECT key, left, delay_s, next_start, failures FROM (
                SELECT host, sum(urls) AS left FROM (
                    SELECT host, count(*) AS urls FROM urls WHERE state = 1 GROUP BY host
                    UNION ALL SELECT host, 1 FROM urls WHERE state IN (0, 2, 3)
                ) GROUP BY host
            ) JOIN hosts ON hosts.id = host ORDER BY left DESC, key LIMIT ?
            """,
            (limit,),
        )
        return [
            BusyHost(host=key, left=left, delay_s=delay_s, next_start=start, failures=failures)
            for key, left, delay_s, start, failures in rows
        ]

    def active_between(self) -> tuple[float, float] | None:
        """Return when the first URL was found and the last attempt ended; None for no URL."""
        began = self._db.execute("SELECT found_at FROM urls ORDER BY id LIMIT 1").fetchone()
        if began is None:
            return None
        last = self._db.execute("SELECT at FROM attempts ORDER BY rowid DESC LIMIT 1").fetchone()
        return began[0], last[0] if last else began[0]

    # -- lists -----------------------------------------------------------------------------------

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        for row in self._db.execute(f"{_PAGE} ORDER BY pages.id"):
            number, url, depth, _, size, content_type, encoding, title, fetched_at = row
            yield PageRecord(
                id=number,
                url=url,
                depth=depth,
                outcome=Outcome.FETCHED,
                bytes=size,
                content_type=content_type,
                encoding=encoding,
                title=title,
                fetched_at=fetched_at,
            )

    def urls(
        self, states: Sequence[UrlState] = tuple(UrlState), outcome: Outcome | None = None
    ) -> Iterator[ListedUrl]:
        """Yield the URLs that stand in one of the places, in the order of discovery."""
        rows = self._db.execute(
            f"""
            SELECT page, urls.url, depth, CASE state WHEN 4 THEN outcome END, size,
                   CASE state {_STATES} END, CASE state {_NAMES} END,
                   hosts.key, score, queue, attempts, coalesce(detail, ''), found_at, finished_at
            FROM urls JOIN hosts ON hosts.id = urls.host LEFT JOIN pages ON pages.id = urls.page
            WHERE state IN (SELECT value FROM json_each(?1))
              AND (?2 IS NULL OR state = 4 AND outcome = ?2)
            ORDER BY urls.id
            """,  # noqa: S608 -- our own words
            (str([int(state) for state in states]), outcome),
        )
        return starmap(ListedUrl, rows)

    # -- one page, one URL, one host -------------------------------------------------------------

    def page(self, page_id: int) -> PageRecord | None:
        """Return a kept page; None if no page has that number."""
        if page_id.bit_length() >= 64:
            return None  # more than SQLite can count
        return self._record(PageRecord, f"{_PAGE} WHERE pages.id = ?", page_id)

    def body(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        found = self._db.execute("SELECT body FROM contents WHERE page = ?", (page_id,)).fetchone()
        if found is None:
            return None
        try:
            return zstandard.decompress(found[0])
        except zstandard.ZstdError as error:
            raise CrawlError(f"the stored body of page {page_id} is damaged: {error}") from error

    def url(self, key: bytes) -> UrlRecord | None:
        """Return all that is known of the URL filed under that key."""
        return self._record(UrlRecord, f"{_URL} WHERE urls.key = ?", key)

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        rows = self._db.execute(
            "SELECT at, outcome, cause, detail, status FROM attempts WHERE url = ? ORDER BY rowid",
            (url_id,),
        )
        names = ("at", "outcome", "cause", "detail", "status")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for one in found:
            one["cause"] = Cause.__members__.get(one["cause"], one["cause"])
        return msgspec.convert(found, list[Attempt])

    def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL that is there, both included."""
        steps: list[Step] = []
        passed: set[int] = set()
        at: int | None = url_id
        while at is not None and at not in passed:
            passed.add(at)
            row = self._db.execute(
                "SELECT one.url, one.depth, one.parent, parent.redirect FROM urls AS one "
                "LEFT JOIN urls AS parent ON parent.id = one.parent WHERE one.id = ?",
                (at,),
            ).fetchone()
            if row is None:
                break
            url, depth, at, redirect = row
            over = "seed" if at is None else "redirect" if redirect else "link"
            steps.append(Step(url, depth, over))
        return steps[::-1]

    def host(self, key: HostKey) -> HostRecord | None:
        """Return a host as it was last saved."""
        return self._record(
            HostRecord,
            "SELECT key, domain, delay_s, next_start, failures FROM hosts WHERE key = ?",
            key,
        )

    def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one.

        Before one without a score: those found earlier. Before one in a priority queue: those of
        its host in the same queue with a better score, and what its host's worker has already.
        """
        if url.state is UrlState.UNSCORED:
            return self._number("SELECT count(*) FROM urls WHERE state = 0 AND id < ?", url.id)
        return self._number(
            "SELECT count(*) FROM urls WHERE host = (SELECT id FROM hosts WHERE key = ?1) AND ("
            "state = 3 OR state = 2 AND (?2 = 1 OR (score, id) < (?4, ?5)) "
            "OR state = 1 AND ?2 = 1 AND queue = ?3 AND (score, id) < (?4, ?5))",
            *(url.host, url.state, url.queue, url.score, url.id),
        )

    # -- inside ----------------------------------------------------------------------------------

    def _number(self, query: str, *values: object) -> int:
        (found,) = self._db.execute(query, values).fetchone()
        return int(found)

    def _record(self, kind: type[Record], query: str, value: object) -> Record | None:
        """Return the row as a record; the columns are named as its fields."""
        cursor = self._db.execute(query, (value,))
        row = cursor.fetchone()
        if row is None:
            return None
        names = [column[0] for column in cursor.description]
        return msgspec.convert(dict(zip(names, row, strict=True)), kind)
