"""The kinds of stores that are tested: how each is opened, crashes and is looked into."""

import asyncio
import math
import shutil
import socket
import sqlite3
from collections.abc import Callable, Coroutine, Iterable
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import asdict
from tests.contract.loading import check_loading

from gossamer.channel import Channel
from gossamer.frontier.contract import FRONTIER, FrontierClient
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.frontier.session import WorkerSession
from gossamer.frontier.waiting import HEAD
from gossamer.model import Outcome
from gossamer.model.page import unpack_attributes
from gossamer.stores.bodies import BodyReader
from gossamer.stores.counting import wrong_counts
from gossamer.stores.crawl_views import StoredResponse
from gossamer.stores.reader import CrawlReader, read_response
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.row_reads import ReadableRedisRows
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import ReadableRows, ResultRow, Rows
from gossamer.stores.sqlite.rows import ReadableSqliteRows, SqliteRows
from gossamer.stores.url_record import Attempt, PageRecord, Result, UrlRecord, unpack_records

T = TypeVar("T")


class StoreSetup(Protocol):
    """One kind of store: how to open it, how it is left when its process dies, what is in it."""

    @property
    def store(self) -> FrontierClient:
        """The store that is open."""

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """Take a step."""

    def open(self, rules: FrontierRules, now: float, *, workers_live: bool = False) -> None:
        """Open the store, new or as it was left; with `workers_live` those go on that it had."""

    def open_to_read(self) -> ReadableRows | None:
        """Return its rows as another process reads them; None: nobody else can."""

    def check_counters(self) -> None:
        """Fail unless the counters that are stored are those of what is stored with them."""

    def crash(self) -> None:
        """Let the process die: nothing is closed, only what is durable is left."""

    def records(self) -> Iterable[UrlRecord]:
        """Return all URLs."""

    def pages(self) -> Iterable[PageRecord]:
        """Return all pages."""

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""

    def set_attempts(self, url_id: int, count: int) -> None:
        """Pretend that a URL was tried so often, as the last time."""

    def answer(self, page_id: int) -> StoredResponse | None:
        """Return what is kept of the answer for a page."""

    def results(self, after: int, limit: int) -> list[Result]:
        """Return results of the log."""

    def last_result(self) -> int:
        """Return the number of the last result."""

    def last_page(self) -> int:
        """Return the largest number that was given to a page."""

    def gaps(self) -> frozenset[int]:
        """Return the smaller numbers that are to be given again."""

    def close(self) -> None:
        """Let go of everything."""


async def at_once(work: Callable[[], None]) -> None:
    """Make changes durable without a thread."""
    work()


class EmbeddedSetup:
    """A store in the process, over rows in memory.

    Whoever looks into it sees what is collected for the next commit as well, and changes nothing.
    """

    @property
    def store(self) -> FrontierClient:
        return self._store

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return run_at_once(step)

    def make_rows(self) -> Rows:
        return SqliteRows()

    def open(self, rules: FrontierRules, now: float, *, workers_live: bool = False) -> None:
        lives = (lambda _: True) if workers_live else None
        self._store = Frontier(self.make_rows(), rules, now, lives=lives, finish=at_once)
        self.check_counters()
        check_loading(self._store.rows, with_times=not math.isinf(rules.revisit_s))

    def open_to_read(self) -> ReadableRows | None:
        return None

    def check_counters(self) -> None:
        assert list(wrong_counts(self._store.rows)) == []

    def crash(self) -> None:
        """Lose everything: it was in memory."""
        self._store.rows.close()

    @property
    def memory(self) -> CrawlMemory:
        return self._store._memory

    def records(self) -> Iterable[UrlRecord]:
        return self._store.records()

    def pages(self) -> Iterable[PageRecord]:
        memory = self.memory
        for number in range(1, memory.pages.last_number + 1):
            if (row := memory.pages.row(number)) is None:
                continue
            visits = [
                one for one in memory.urls.attempts(row.url) if one.outcome is Outcome.FETCHED
            ]
            yield PageRecord(
                id=number,
                url=memory.urls.row(row.url).url,
                depth=memory.urls.depths[row.url],
                outcome=Outcome.FETCHED,
                bytes=row.size,
                **asdict(unpack_attributes(row.attributes)),
                fetched_at=row.fetched_at,
                visits=len(visits),
                status=visits[-1].status,
            )

    def attempts(self, url_id: int) -> list[Attempt]:
        return self.memory.urls.attempts(url_id)

    def set_attempts(self, url_id: int, count: int) -> None:
        self.memory.urls.change(url_id).attempts = count

    def answer(self, page_id: int) -> StoredResponse | None:
        stored, _ = self.memory.pages.content(page_id) or (None, b"")
        bodies = BodyReader(self._store.metadata)
        return None if stored is None else run_at_once(read_response(bodies, stored, page_id))

    def results(self, after: int, limit: int) -> list[Result]:
        changes = self.memory.pending.now
        stored = [
            one
            if one.number > changes.rows_dropped and one.settled_at > changes.rows_expired
            else msgspec.structs.replace(one, row=None)
            for one in self.stored_results()
        ]
        collected = [
            as_result(one)
            if one.number > changes.rows_dropped
            else msgspec.structs.replace(as_result(one), row=None)
            for one in changes.results
        ]
        return [one for one in [*stored, *collected] if one.number > after][:limit]

    def stored_results(self) -> list[Result]:
        return run_at_once(CrawlReader(self._store.rows).results(0, 10**6))

    def last_result(self) -> int:
        return max((one.number for one in self.results(0, 10**9)), default=0)

    def last_page(self) -> int:
        return run_at_once(self._store.numbering()).last_page

    def gaps(self) -> frozenset[int]:
        return run_at_once(self._store.numbering()).gaps

    def close(self) -> None:
        self._store.rows.close()


class SqliteSetup(EmbeddedSetup):
    """A store in a file; a crash leaves the file and its log as `kill -9` would."""

    def __init__(self, folder: Path, *, head: int = HEAD) -> None:
        self._folder = folder
        self._lives = count()
        self._head = head
        self._path = self._next_path()

    def _next_path(self) -> Path:
        path = self._folder / str(next(self._lives)) / "crawl.sqlite"
        path.parent.mkdir()
        return path

    def make_rows(self) -> Rows:
        return SqliteRows(self._path)

    def open(self, rules: FrontierRules, now: float, *, workers_live: bool = False) -> None:
        super().open(rules, now, workers_live=workers_live)
        self.memory.waiting._head = self._head

    def open_to_read(self) -> ReadableRows | None:
        connection = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)
        return ReadableSqliteRows(connection, self._path)

    def crash(self) -> None:
        before, self._path = self._path, self._next_path()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{before}{suffix}", f"{self._path}{suffix}")
        self._store.rows.close()


class RedisSetup(EmbeddedSetup):
    """A store over rows in Redis; a crash leaves there what was committed."""

    def __init__(self, url: str, crawl: str) -> None:
        self._url, self._crawl = url, crawl
        self._rows: RedisRows | None = None

    def make_rows(self) -> Rows:
        if self._rows is not None:
            self._rows.close()
        self._rows = RedisRows(parse_address(self._url), self._crawl)
        self._rows.take_lead()
        return self._rows

    def open_to_read(self) -> ReadableRows | None:
        reads = ReadableRedisRows(parse_address(self._url), self._crawl)
        reads.open()
        return reads

    def server_time(self) -> float:
        assert self._rows is not None
        return self._rows.server_time()

    def crash(self) -> None:
        assert self._rows is not None
        self._rows.lead.resign()  # as if its time were over
        self._rows.close()

    def close(self) -> None:
        assert self._rows is not None
        self._rows.lead.resign()
        self._rows.take_lead(fresh=True)  # which deletes what is there
        self._rows.close()


def tell_at_once(tell: Callable[[], None]) -> None:
    """Pretend that everything is durable."""
    tell()


class ChannelSetup(SqliteSetup):
    """A store in a file, as a worker process has it: through a channel."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._runner = asyncio.Runner()
        self._ends: list[Channel] = []

    @property
    def store(self) -> FrontierClient:
        return self._proxy

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(step)

    def open(self, rules: FrontierRules, now: float, *, workers_live: bool = False) -> None:
        if self._ends:  # `close` of a worker leaves the store open for others; this closes it
            self._hang_up()
            self.run(self._store.close())
        super().open(rules, now, workers_live=workers_live)
        self._proxy = self.run(self._connect())

    async def _connect(self) -> FrontierClient:
        vars(self._store)["when_durable"] = tell_at_once  # who commits is the test
        session = WorkerSession(self._store, lambda: 0.0, longest_wait_s=0)
        ours, theirs = socket.socketpair()
        self._ends.append(await Channel.open(ours, [FRONTIER], [session.serve(FRONTIER)]))
        self._ends.append(await Channel.open(theirs, [FRONTIER]))
        return FRONTIER.proxy(self._ends[-1])

    def _hang_up(self) -> None:
        for end in self._ends:
            self.run(end.close())
            end.closed.result()
        self._ends.clear()

    def crash(self) -> None:
        self._hang_up()
        super().crash()

    def close(self) -> None:
        self._hang_up()
        super().close()
        self._runner.close()

    def last_page(self) -> int:
        return self.run(self._store.numbering()).last_page

    def gaps(self) -> frozenset[int]:
        return self.run(self._store.numbering()).gaps


def as_result(row: ResultRow) -> Result:
    return Result(
        number=row.number,
        url_id=row.url,
        page_id=row.page,
        settled_at=row.settled_at,
        records=unpack_records(row.records),
        row=row.row,
    )


def run_at_once(step: Coroutine[Any, Any, T]) -> T:
    """Take a step that does not wait for anything; an event loop for each would cost far more."""
    try:
        step.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the store waits for something")
