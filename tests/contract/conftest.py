"""Stores under test, each in three kinds, with a clock that is turned by hand.

The tests go by the contract alone. What differs between stores is a `Backend`: how to open one, how
it is left when its process dies, and how to look into it.
"""

import asyncio
import hashlib
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import pytest
import zstandard

from gossamer.content.similarity import Sketch
from gossamer.frontier import DeskRules
from gossamer.model import Candidate, HostKey, Outcome, Snapshot, Url
from gossamer.stores import EmbeddedStore, Shelf, Store, StoreRules
from gossamer.stores.contract import (
    Attempt,
    Claim,
    HostView,
    KeptPage,
    Link,
    Pace,
    PageRecord,
    Place,
    Settled,
    Settlement,
    Task,
    UrlRecord,
)
from gossamer.stores.memory import MemoryShelf
from gossamer.stores.redis import DividedStore, Opening, RedisStore, open_shared
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.centre import CentreCounts
from gossamer.stores.redis.divided_reader import DividedReader
from gossamer.stores.redis.messages import SnapshotAnswer
from gossamer.stores.redis.open import delete_crawl, open_reader
from gossamer.stores.redis.reader import RedisReader
from gossamer.stores.sqlite import SqliteShelf

T = TypeVar("T")

START = 1_000_000.0
QUEUES = tuple(range(10))
WAITING = {Place.UNSCORED, Place.SHELVED, Place.DEALT}


class Backend(Protocol):
    """One kind of store."""

    forgets_the_uncommitted: bool
    """A crash takes back what was done since the last commit."""
    forgets_hosts: bool
    """A crash takes back what was learnt of hosts since the last commit."""
    gives_up_poison: bool
    """A URL on which three workers have died is not tried again."""
    lines: int
    """In how many lines URLs wait: each partition has its own, and its own queues of workers."""

    @property
    def store(self) -> Store:
        """The store that is open."""

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """Take a step."""

    def open(self, rules: StoreRules, now: float) -> None:
        """Open the store, new or as it was left."""

    def crash(self) -> None:
        """Let the process die: nothing is closed, only what is durable is left."""

    def records(self) -> Iterable[UrlRecord]:
        """Return all URLs."""

    def pages(self) -> Iterable[PageRecord]:
        """Return all pages."""

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""

    def content(self, page_id: int) -> bytes | None:
        """Return the content of a page."""

    def last_page(self) -> int:
        """Return the largest number that was given to a page."""

    def gaps(self) -> frozenset[int]:
        """Return the smaller numbers that are to be given again."""

    def close(self) -> None:
        """Let go of everything."""


class Embedded:
    """A store in the process, over a shelf."""

    forgets_the_uncommitted = False
    forgets_hosts = True
    gives_up_poison = False
    lines = 1

    def __init__(self, make_shelf: Callable[[], Shelf]) -> None:
        self._make_shelf = make_shelf

    @property
    def store(self) -> EmbeddedStore:
        return self._store

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return run(step)

    def open(self, rules: StoreRules, now: float) -> None:
        self.shelf = self._make_shelf()
        self._store = EmbeddedStore(self.shelf, rules, now)

    def crash(self) -> None:
        """The shelf is the same object, as the memory of another machine would be."""

    def records(self) -> Iterable[UrlRecord]:
        return self.shelf.records()

    def pages(self) -> Iterable[PageRecord]:
        return self.shelf.pages()

    def attempts(self, url_id: int) -> list[Attempt]:
        return self.shelf.attempts(url_id)

    def content(self, page_id: int) -> bytes | None:
        return self.shelf.content(page_id)

    def last_page(self) -> int:
        return self._store.last_page

    def gaps(self) -> frozenset[int]:
        return self._store.gaps

    def close(self) -> None:
        self.shelf.close()


class OnDisk(Embedded):
    """A store in a file; a crash leaves the file and its log as `kill -9` would."""

    forgets_the_uncommitted = True

    def __init__(self, folder: Path, cached_links: int) -> None:
        self._folder = folder
        self._lives = count()
        self._cached_links = cached_links
        self._path = self._next_path()
        super().__init__(lambda: SqliteShelf(self._path, cached_links=self._cached_links))

    def _next_path(self) -> Path:
        path = self._folder / str(next(self._lives)) / "crawl.sqlite"
        path.parent.mkdir()
        return path

    def crash(self) -> None:
        before, self._path = self._path, self._next_path()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{before}{suffix}", f"{self._path}{suffix}")
        self.shelf.close()


class InRedis:
    """A store in a Redis, perhaps divided; whoever crashes leaves there what he had done."""

    forgets_the_uncommitted = False
    forgets_hosts = False
    gives_up_poison = True

    def __init__(self, url: str, crawl: str, partitions: int | None = None) -> None:
        self._url = url
        self._crawl = crawl
        self._partitions = partitions
        self.lines = partitions or 1
        self._runner = asyncio.Runner()
        self._store: RedisStore | DividedStore | None = None
        self._reader: RedisReader | DividedReader | None = None

    @property
    def store(self) -> RedisStore | DividedStore:
        assert self._store is not None
        return self._store

    @property
    def reader(self) -> RedisReader | DividedReader:
        assert self._reader is not None
        return self._reader

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(step)

    def open(self, rules: StoreRules, now: float) -> None:
        self._let_go()
        how = Opening(
            take_over=True, clock="given", now=now, is_checked=True, partitions=self._partitions
        )
        self._store = self.run(open_shared(self._url, self._crawl, rules, how))
        self._reader = self.run(open_reader(parse_address(self._url), self._crawl))

    def crash(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        """Leave without a word."""
        if self._store is not None:
            self.run(self._store.let_go())
        if self._reader is not None:
            self.run(self._reader.close())

    def records(self) -> Iterable[UrlRecord]:
        return self.run(listed(self.reader.records()))

    def pages(self) -> Iterable[PageRecord]:
        return self.run(listed(self.reader.pages()))

    def attempts(self, url_id: int) -> list[Attempt]:
        return self.run(self.reader.attempts(url_id))

    def content(self, page_id: int) -> bytes | None:
        return self.run(self.reader.content(page_id))

    def last_page(self) -> int:
        return self.run(self._numbers()).last_page

    def gaps(self) -> frozenset[int]:
        return frozenset(self.run(self._numbers()).gaps)

    async def _numbers(self) -> SnapshotAnswer | CentreCounts:
        store = self.store
        return (
            (await store.look()).centre if isinstance(store, DividedStore) else await store.counts()
        )

    def close(self) -> None:
        self._let_go()
        self.run(delete_crawl(parse_address(self._url), self._crawl))
        self._runner.close()


async def listed(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def domain_of(host: str) -> str:
    return ".".join(host.split(".")[-2:])


def link(name: str) -> Link:
    """Return the link to `host/path`; `.test` is added to the host."""
    host, _, path = name.partition("/")
    url = Url(f"http://{host}.test/{path}")
    key = hashlib.blake2b(url.encode(), digest_size=16).digest()
    return Link(url, key, HostKey(f"{host}.test"), domain_of(f"{host}.test"))


def name_of(url: str) -> str:
    return url.removeprefix("http://").replace(".test/", "/", 1)


def run(step: Coroutine[Any, Any, T]) -> T:
    """Take a step that does not wait for anything; an event loop for each would cost far more."""
    try:
        step.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the store waits for something")


class Lab:
    """A store, and everything that is done to it in the tests; URLs are written `host/path`."""

    def __init__(self, backend: Backend, rules: StoreRules) -> None:
        self.backend = backend
        self.rules = rules
        self.now = START
        self._run = backend.run
        backend.open(rules, self.now)

    @property
    def store(self) -> Store:
        return self.backend.store

    def need_one_line(self) -> None:
        """Leave the test to stores in which all URLs wait in one line."""
        if self.backend.lines > 1:
            pytest.skip("each partition has its own order and its own queues")

    def join(self, *workers: int) -> None:
        for worker in workers:
            self._run(self.store.join(worker, self.now))

    def plant(self, *names: str) -> int:
        return self._run(self.store.plant([link(name) for name in names], self.now))

    def candidates(self, limit: int = 10_000) -> list[Candidate]:
        return self._run(self.store.candidates(limit))

    def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        self._run(self.store.prioritise(scores))

    def score(self, score: Callable[[str], float] = lambda _: 50.0) -> int:
        found = self.candidates()
        self._run(self.store.prioritise([(one, score(name_of(one.url))) for one in found]))
        return len(found)

    def route(self, draws: int = 100) -> int:
        return self._run(self.store.route([QUEUES] * draws, self.now))

    def deal(self, orders: Sequence[Sequence[int]]) -> int:
        return self._run(self.store.route(orders, self.now))

    def lease(self, worker: int = 0, limit: int = 100) -> list[Task]:
        return self._run(self.store.lease(worker, limit, self.now)).tasks

    def wake_at(self, worker: int = 0) -> float | None:
        leased = self._run(self.store.lease(worker, 0, self.now))
        return leased.wake_at

    def take(self, worker: int = 0, limit: int = 100) -> list[Task]:
        """Score, deal and lease what there is."""
        self.join(worker)
        self.score()
        self.route()
        tasks = self.lease(worker, limit)
        # Which partition comes first is left to it; tests name hosts in the order of the alphabet.
        return sorted(tasks, key=self.name) if self.backend.lines > 1 else tasks

    def take_one(self, name: str, worker: int = 0) -> Task:
        (task,) = [task for task in self.take(worker) if name_of(task.url) == name]
        return task

    def claim(self, task: Task, content: str | None = None, sketch: Sketch | None = None) -> Claim:
        return self._run(self.store.claim(task, digest_of(content or task.url), sketch, self.now))

    def settle(
        self,
        task: Task,
        outcome: Outcome,
        *,
        pace: Pace | None = None,
        size: int = 0,
        retry: bool = False,
    ) -> Settled:
        settlement = Settlement(task=task, outcome=outcome, pace=pace, size=size, retry=retry)
        return self.settle_as(settlement)

    def settle_as(self, settlement: Settlement) -> Settled:
        return self._run(self.store.settle(settlement, self.now))

    def keep(
        self,
        task: Task,
        links: Sequence[str] = (),
        *,
        content: str | None = None,
        sketch: Sketch | None = None,
        pace: Pace | None = None,
        size: int = 100,
    ) -> Settled:
        """Claim a number for the page and settle it."""
        claim = self.claim(task, content, sketch)
        assert claim.page_id is not None
        body = (content or task.url).encode()
        page = KeptPage(
            page_id=claim.page_id,
            size=size,
            digest=digest_of(content or task.url),
            content=zstandard.compress(body),
            fetched_at=self.now,
        )
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            page=page,
            links=[link(name) for name in links],
            size=size,
            pace=pace or Pace(ended=self.now),
        )
        return self.settle_as(settlement)

    def redirect(self, task: Task, target: str) -> Settled:
        settlement = Settlement(
            task=task,
            outcome=Outcome.REDIRECTED,
            links=[link(target)],
            redirect=True,
            pace=Pace(ended=self.now),
        )
        return self.settle_as(settlement)

    def miss(self, task: Task, pace: Pace | None = None) -> Settled:
        return self.settle(task, Outcome.NOT_FOUND, pace=pace or Pace(ended=self.now))

    def retry(self, task: Task, pace: Pace | None = None) -> Settled:
        pace = pace or Pace(ended=self.now)
        return self.settle(task, Outcome.SERVER_ERROR, retry=True, pace=pace)

    def put_back(self, task: Task, pace: Pace | None = None) -> bool:
        return self._run(self.store.put_back(task, pace, self.now))

    def borrow(self, host: str) -> float | None:
        key = HostKey(f"{host}.test")
        return self._run(self.store.borrow(key, domain_of(key), self.now))

    def hand_back(self, host: str, pace: Pace) -> None:
        key = HostKey(f"{host}.test")
        self._run(self.store.hand_back(key, domain_of(key), pace, self.now))

    def renew(self, *tasks: Task) -> list[Task]:
        return self._run(self.store.renew(tasks, self.now))

    def reap(self) -> int:
        return self._run(self.store.reap(self.now))

    def commit(self) -> None:
        self._run(self.store.commit())

    def crash(self) -> None:
        self.backend.crash()
        self.backend.open(self.rules, self.now)

    def reopen(self) -> None:
        self._run(self.store.close())
        self.backend.open(self.rules, self.now)

    def with_delay(self, delay_s: float) -> StoreRules:
        """Return the rules with another delay."""
        desk = msgspec.structs.replace(self.rules.desk, delay_s=delay_s)
        return msgspec.structs.replace(self.rules, desk=desk)

    def untold(self) -> list[tuple[int, int]]:
        return self._run(self.store.untold())

    def told(self, pages: Sequence[tuple[int, int]]) -> None:
        self._run(self.store.told(pages))

    def hosts(self, limit: int) -> list[HostView]:
        return self._run(self.store.hosts(limit, self.now))

    def snapshot(self) -> Snapshot:
        return self._run(self.store.snapshot(self.now))

    def ended_by(self) -> str | None:
        return self._run(self.store.ended_by())

    @staticmethod
    def key(name: str) -> bytes:
        return link(name).key

    @staticmethod
    def name(task: Task) -> str:
        return name_of(task.url)

    @staticmethod
    def name_of(url: Url) -> str:
        return name_of(url)

    # -- looking into it -------------------------------------------------------------------------

    def records(self) -> dict[str, UrlRecord]:
        return {name_of(record.url): record for record in self.backend.records()}

    def place(self, name: str) -> Place:
        return self.records()[name].place

    def depths(self) -> dict[str, int]:
        return {name: record.depth for name, record in self.records().items()}

    def dealt(self) -> int:
        return sum(record.place is Place.DEALT for record in self.backend.records())

    def last_page(self) -> int:
        return self.backend.last_page()

    def gaps(self) -> frozenset[int]:
        return self.backend.gaps()

    def page_numbers(self) -> list[int]:
        return [page.id for page in self.backend.pages()]

    def assert_counts_agree(self) -> None:
        """Every URL stands in one place, and the counters say the same."""
        snapshot, records = self.snapshot(), self.records().values()
        finished = [record for record in records if record.place is Place.FINISHED]
        assert snapshot.waiting == sum(record.place in WAITING for record in records)
        assert snapshot.in_work == sum(record.place is Place.IN_WORK for record in records)
        assert snapshot.finished == len(finished)
        for record in records:
            assert (record.outcome is not None) == (record.place is Place.FINISHED)
            assert (record.finished_at is not None) == (record.place is Place.FINISHED)
        assert snapshot.pages == len(list(self.backend.pages()))


SAMPLE_BYTES = 256
BAND_BYTES = 8


def sketch_of(family: str, changed: int = 0) -> Sketch:
    """Return a sketch that differs from others of its family in so many of 255 parts.

    Two members differ in the parts of the one that has changed more. Those that have changed by
    less than 192 share bands.
    """
    whole = hashlib.shake_256(family.encode()).digest(SAMPLE_BYTES)
    other = bytes(one ^ 1 + changed % 255 for one in whole)
    sample = whole[: SAMPLE_BYTES - changed] + other[SAMPLE_BYTES - changed :]
    bands = (sample[start : start + BAND_BYTES] for start in range(0, 64, BAND_BYTES))
    return Sketch(tuple(bands), sample)


def digest_of(content: str) -> bytes:
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


KINDS = ("memory", "sqlite", "sqlite with a tiny cache", "redis", "redis in partitions")
PARTITIONS = 5
"""So that hosts a, b and c are in three of them."""


def backend_of(kind: str, folder: Path, ask: pytest.FixtureRequest) -> Embedded | InRedis:
    if kind.startswith("redis"):
        partitions = PARTITIONS if kind == "redis in partitions" else None
        return InRedis(ask.getfixturevalue("redis_url"), secrets.token_hex(4), partitions)
    if kind == "memory":
        shelf = MemoryShelf()
        return Embedded(lambda: shelf)
    return OnDisk(folder, 200_000 if kind == "sqlite" else 2)


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """Each kind of store."""
    backend = backend_of(request.param, tmp_path, request)
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def make_sketch() -> Callable[..., Sketch]:
    """Make a sketch that resembles others of its family."""
    return sketch_of


@pytest.fixture(scope="session")
def make_lab(request: pytest.FixtureRequest) -> Callable[[str, Path, StoreRules], Lab]:
    """Open a store of a kind in a folder."""
    return lambda kind, folder, rules: Lab(backend_of(kind, folder, request), rules)


@pytest.fixture(scope="session")
def make_strict_lab(request: pytest.FixtureRequest) -> Callable[[], Lab]:
    """Open a new store in memory that hands URLs out in strict order."""

    def make() -> Lab:
        desk = DeskRules(strict=True, delay_s=0.0)
        lab = Lab(backend_of("memory", Path(), request), StoreRules(desk=desk, similarity=None))
        lab.join(0)
        return lab

    return make


@pytest.fixture
def open_lab(backend: Backend) -> Callable[..., Lab]:
    """Open a store with one worker; the rules are those of store and desk together."""

    def open_one(*, workers: int = 1, **rules: float | None) -> Lab:
        desk = {name: rules.pop(name) for name in DeskRules.__struct_fields__ if name in rules}
        everything = {"desk": desk, **rules}
        lab = Lab(backend, msgspec.convert(everything, StoreRules, strict=False))
        lab.join(*range(workers))
        return lab

    return open_one
