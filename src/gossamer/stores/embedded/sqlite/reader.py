"""Reading a crawl in a file, as one consistent snapshot."""

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from gossamer.errors import CrawlError, UsageError
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.bodies.reader import BodyReader
from gossamer.stores.embedded.directory import DATABASE, find_crawl, is_locked
from gossamer.stores.embedded.records import Figures, read_figures
from gossamer.stores.embedded.sqlite import queries
from gossamer.stores.embedded.sqlite.readonly import reading
from gossamer.stores.embedded.worker_registry import WORKERS_NOTE, read_workers
from gossamer.stores.figures import HostView, WorkerView
from gossamer.stores.kept_answer import KeptAnswer, read_answer
from gossamer.stores.reading import (
    ALIAS_OUTCOMES,
    ANY_STATE,
    Arrival,
    CrawlCounts,
    DepthCount,
    HostTiming,
    ListedUrl,
    ReadRequest,
    Step,
)
from gossamer.stores.reasons import cause_counts
from gossamer.stores.results import Result
from gossamer.stores.url_record import Attempt, PageRecord, UrlRecord, UrlState

_HOSTS = """
    SELECT key AS host, waiting, in_progress, pages, failed AS failures,
           next_start - ?1 AS next_in_s, delay_s,
           coalesce(1000 * took_s / nullif(requests, 0), 0) AS mean_ms
    FROM (
        SELECT host, sum(waiting) AS waiting, sum(in_progress) AS in_progress FROM (
            SELECT host, count(*) AS waiting, 0 AS in_progress FROM urls WHERE state = 1
            GROUP BY host
            UNION ALL SELECT host, -1, 1 FROM leases JOIN urls ON urls.id = leases.url
        ) GROUP BY host
    ) JOIN hosts ON hosts.id = host ORDER BY waiting + in_progress DESC, key LIMIT ?2
"""


@asynccontextmanager
async def open_sqlite_reader(request: ReadRequest) -> AsyncIterator["SqliteReader"]:
    """Open the file of a crawl to read it; nobody is disturbed."""
    path = request.address.path
    directory = request.directory or (path.parent if path else find_crawl(None, Path()))
    where = path or directory
    file = path or directory / DATABASE
    if not file.is_file():
        raise UsageError(f"there is no crawl in {where}: 'gossamer crawls' lists those around here")
    with reading(file) as connection:
        closed, running = _status(connection, directory)
        if not closed and not running:
            # It was killed, or has ended since this snapshot. A process closes its crawl before it
            # lets go of the lock, so a new snapshot tells which.
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            closed, running = _status(connection, directory)
        yield SqliteReader(connection, str(where), directory, running=running, closed=closed)


def _status(connection: sqlite3.Connection, directory: Path) -> tuple[bool, bool]:
    """Return whether the crawl was closed, and whether a process works on it."""
    closed = queries.read_note(connection, "closed") == b"yes"
    return closed, not closed and is_locked(directory)


@dataclass(eq=False)
class SqliteReader:
    """Reads the tables of a crawl, over a connection that is in a transaction."""

    connection: sqlite3.Connection
    where: str
    directory: Path | None
    running: bool
    """Whether a process works on the crawl."""
    closed: bool
    """Whether the last process that worked on it ended in order."""
    name: str | None = None

    @cached_property
    def bodies(self) -> BodyReader:
        """The reader of bodies."""
        return BodyReader(self.note)

    # -- the crawl -------------------------------------------------------------------------------

    async def note(self, name: str) -> bytes | None:
        """Return a note that is kept with the crawl."""
        return queries.read_note(self.connection, name)

    async def counts(self) -> CrawlCounts:
        """Return the counters."""
        states: Counter[int] = Counter()
        outcomes: Counter[str] = Counter()
        queues: Counter[int] = Counter()
        depths: Counter[int] = Counter()
        finished: Counter[int] = Counter()
        pages: Counter[int] = Counter()
        for (state, outcome, depth, queue, has_page), urls in self._groups.items():
            states[state] += urls
            depths[depth] += urls
            if state == UrlState.DONE:
                outcomes[str(outcome)] += urls
                finished[depth] += urls
            pages[depth] += urls if has_page else 0
            if queue is not None and state in {UrlState.QUEUED, UrlState.ASSIGNED}:
                queues[queue] += urls
        return CrawlCounts(
            states={state: states[state] for state in UrlState},
            outcomes=dict(outcomes),
            causes=cause_counts(queries.read_reasons(self.connection).items()),
            depths=[
                DepthCount(depth=one, urls=depths[one], finished=finished[one], pages=pages[one])
                for one in sorted(depths)
            ],
            queues=dict(queues),
            pages=queries.count_pages(self.connection),
            **msgspec.structs.asdict(self._figures()),
            hosts=queries.read_number(self.connection, "SELECT count(*) FROM hosts"),
            started_at=self._attempt_at("ASC"),
            last_at=self._attempt_at("DESC"),
            running=self.running,
            closed=self.closed,
            relaxing=queries.has_relaxing(self.connection),
        )

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do."""
        rows = self.connection.execute(_HOSTS, (now, limit))
        return [queries.record(HostView, row) for row in rows]

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number; none if no process works on the crawl."""
        note = await self.note(WORKERS_NOTE) if self.running else None
        try:
            return read_workers(note, now) if note is not None else []
        except msgspec.DecodeError as error:
            raise CrawlError(f"the note of the workers in {self.where} is damaged") from error

    # -- lists -----------------------------------------------------------------------------------

    async def urls(
        self, states: Collection[UrlState] = ANY_STATE, outcome: Outcome | None = None
    ) -> AsyncIterator[ListedUrl]:
        """Yield the URLs in one of the states, in the order of discovery."""
        rows = self.connection.execute(
            f"""
            {queries.URL_COLUMNS}, size,
                (SELECT other.url FROM pages JOIN urls AS other ON other.id = pages.url
                 WHERE pages.id = urls.duplicate_of)
            FROM urls JOIN hosts ON hosts.id = urls.host
            LEFT JOIN pages ON pages.id = urls.page
            WHERE {queries.STATE} IN (SELECT value FROM json_each(?1))
              AND (?2 IS NULL OR state = 4 AND outcome = ?2)
            ORDER BY urls.id
            """,  # noqa: S608 -- our own words
            (str([int(state) for state in states]), outcome),
        )
        for *row, size, original in rows:
            yield ListedUrl(queries.record(UrlRecord, row), size, original)

    async def pages(self) -> AsyncIterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        for page in queries.read_pages(self.connection):
            yield page

    async def depths(self) -> AsyncIterator[tuple[int, int]]:
        """Yield the numbers of the kept pages, each with the depth of its page."""
        query = "SELECT pages.id, depth FROM pages JOIN urls ON urls.id = pages.url"
        for row in self.connection.execute(query):
            yield row

    async def aliases(self) -> AsyncIterator[tuple[Url, int]]:
        """Yield the URLs that lead to a page of another one, each with the number of that page."""
        query = (
            "FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE state = 4 AND outcome IN (SELECT value FROM json_each(?))"
        )
        outcomes = msgspec.json.encode(sorted(ALIAS_OUTCOMES)).decode()
        for row in self.connection.execute(f"{queries.URL_COLUMNS} {query}", (outcomes,)):
            url = queries.record(UrlRecord, row)
            end = self._end(url)
            if end is not None and end.kept_in is not None:
                yield url.url, end.kept_in

    # -- the log of results ----------------------------------------------------------------------

    async def results(self, after: int, limit: int) -> list[Result]:
        """Return the first results of the log that come after a number, in their order."""
        return queries.read_results(self.connection, after, limit)

    async def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return queries.read_last_result(self.connection)

    # -- one page --------------------------------------------------------------------------------

    async def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return queries.read_number(self.connection, "SELECT coalesce(max(id), 0) FROM pages")

    async def page(self, number: int) -> PageRecord | None:
        """Return a kept page; None if no page has that number."""
        return queries.read_page(self.connection, number)

    async def content(self, number: int) -> bytes | None:
        """Return a page's body, decoded; None if it has expired."""
        answer = await self.answer(number)
        return None if answer is None else answer.body

    async def answer(self, number: int) -> KeptAnswer | None:
        """Return what is kept of the answer for a page; None if it has expired."""
        stored = queries.read_content(self.connection, number)
        return None if stored is None else await read_answer(self.bodies, stored, number)

    async def arrival(self, number: int) -> Arrival:
        """Return how the crawl came to a page."""
        url_id = queries.read_number(
            self.connection, "SELECT coalesce(max(url), 0) FROM pages WHERE id = ?", number
        )
        return Arrival.over(queries.read_path(self.connection, url_id, whole=False))

    # -- one URL ---------------------------------------------------------------------------------

    async def url(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under that key."""
        query = "FROM urls JOIN hosts ON hosts.id = urls.host WHERE urls.key = ?"
        return queries.read_record(
            self.connection, UrlRecord, f"{queries.URL_COLUMNS} {query}", key
        )

    async def ends(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """Return for each key the URL filed under it, or where the redirects from there ended."""
        return [self._end(await self.url(key)) for key in keys]

    def _end(self, url: UrlRecord | None) -> UrlRecord | None:
        passed: set[int] = set()
        while url is not None and url.outcome is Outcome.REDIRECTED and url.id not in passed:
            passed.add(url.id)
            url = queries.read_redirected(self.connection, url.id) or url
        return url

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return queries.read_attempts(self.connection, url_id)

    async def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included."""
        return queries.read_path(self.connection, url_id)

    async def timing(self, host: HostKey, now: float) -> HostTiming | None:
        """Return when a host may be asked again; None if the host is not known."""
        query = "SELECT delay_s, max(0.0, next_start - ?), failures FROM hosts WHERE key = ?"
        return queries.read_record(self.connection, HostTiming, query, now, host)

    async def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one."""
        if url.state is UrlState.UNSCORED:
            query = "SELECT count(*) FROM urls WHERE state = 0 AND id < ?"
            return queries.read_number(self.connection, query, url.id)
        return queries.read_number(
            self.connection,
            "SELECT count(*) FROM urls WHERE host = (SELECT id FROM hosts WHERE key = ?1) "
            "AND state = 1 AND (id IN (SELECT url FROM leases) "
            "OR queue = ?2 AND (score, id) < (?3, ?4))",
            *(url.host, url.queue, url.score, url.id),
        )

    # -- inside ----------------------------------------------------------------------------------

    @cached_property
    def _groups(self) -> Counter[tuple[int, str | None, int, int | None, bool]]:
        """How many URLs there are of each state, outcome, depth, queue, with a page or not."""
        # SQLite would sort all rows to group them, in memory.
        rows = self.connection.execute(
            f"SELECT {queries.STATE}, outcome, depth, queue, page IS NOT NULL FROM urls"  # noqa: S608 -- our own words
        )
        return Counter(rows)

    def _figures(self) -> Figures:
        try:
            return read_figures(lambda name: queries.read_note(self.connection, name))
        except ValueError as error:
            raise CrawlError(f"a figure in {self.where} is damaged: {error}") from error

    def _attempt_at(self, order: str) -> float | None:
        """Return when the first or the last attempt ended."""
        query = f"SELECT at FROM attempts ORDER BY rowid {order} LIMIT 1"  # noqa: S608 -- our word
        found = self.connection.execute(query).fetchone()
        return None if found is None else float(found[0])
