"""The kinds of stores that are tested: how each is opened, crashes and is looked into."""

import asyncio
import shutil
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

from gossamer.channel import Channel
from gossamer.config import StoreAddress
from gossamer.stores import EmbeddedStore, Store, StoreRules
from gossamer.stores.bodies.reader import BodyReader
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.embedded.sqlite.queries import (
    read_attempts,
    read_content,
    read_last_result,
    read_pages,
    read_results,
)
from gossamer.stores.kept_answer import KeptAnswer, read_answer
from gossamer.stores.local import STORE, StoreSession
from gossamer.stores.reading import ReadRequest
from gossamer.stores.redis import Opening, RedisStore, open_redis
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.open import delete_crawl
from gossamer.stores.redis.reader import RedisReader, open_redis_reader
from gossamer.stores.redis.records import read_url, write_url
from gossamer.stores.results import Result
from gossamer.stores.url_record import Attempt, PageRecord, UrlRecord

T = TypeVar("T")


class StoreSetup(Protocol):
    """One kind of store: how to open it, how it is left when its process dies, what is in it."""

    forgets_the_uncommitted: bool
    """A crash takes back what was done since the last commit."""
    forgets_hosts: bool
    """A crash takes back what was learnt of hosts since the last commit."""

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

    def set_attempts(self, url_id: int, count: int) -> None:
        """Pretend that a URL was tried so often, as the last time."""

    def answer(self, page_id: int) -> KeptAnswer | None:
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


class EmbeddedSetup:
    """A store in the process, over a backend."""

    forgets_the_uncommitted = False
    forgets_hosts = True

    def __init__(self, make_backend: Callable[[], SqliteBackend]) -> None:
        self._make_backend = make_backend

    @property
    def store(self) -> Store:
        return self._store

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return run_at_once(step)

    def open(self, rules: StoreRules, now: float) -> None:
        self.backend = self._make_backend()
        self._store = EmbeddedStore(self.backend, rules, now)

    def crash(self) -> None:
        """Lose everything: it was in memory."""
        self.backend.close()

    def records(self) -> Iterable[UrlRecord]:
        return self.backend.records()

    def pages(self) -> Iterable[PageRecord]:
        return read_pages(self._written())

    def attempts(self, url_id: int) -> list[Attempt]:
        return read_attempts(self._written(), url_id)

    def set_attempts(self, url_id: int, count: int) -> None:
        self._written().execute("UPDATE urls SET attempts = ? WHERE id = ?", (count, url_id))

    def answer(self, page_id: int) -> KeptAnswer | None:
        stored = read_content(self._written(), page_id)
        bodies = BodyReader(self._store.note)
        return None if stored is None else run_at_once(read_answer(bodies, stored, page_id))

    def results(self, after: int, limit: int) -> list[Result]:
        return read_results(self._written(), after, limit)

    def last_result(self) -> int:
        return read_last_result(self._written())

    def _written(self) -> sqlite3.Connection:
        self.backend._batch.write()
        return self.backend._db

    def last_page(self) -> int:
        return asyncio.run(self._store.numbering()).last_page

    def gaps(self) -> frozenset[int]:
        return asyncio.run(self._store.numbering()).gaps

    def close(self) -> None:
        self.backend.close()


class SqliteSetup(EmbeddedSetup):
    """A store in a file; a crash leaves the file and its log as `kill -9` would."""

    forgets_the_uncommitted = True

    def __init__(self, folder: Path, cached_links: int) -> None:
        self._folder = folder
        self._lives = count()
        self._cached_links = cached_links
        self._path = self._next_path()
        super().__init__(lambda: SqliteBackend(self._path, cached_links=self._cached_links))

    def _next_path(self) -> Path:
        path = self._folder / str(next(self._lives)) / "crawl.sqlite"
        path.parent.mkdir()
        return path

    def crash(self) -> None:
        before, self._path = self._path, self._next_path()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{before}{suffix}", f"{self._path}{suffix}")
        self.backend.close()


class ChannelSetup(SqliteSetup):
    """A store in a file, as a worker process has it: through a channel."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, cached_links=200_000)
        self._runner = asyncio.Runner()
        self._ends: list[Channel] = []

    @property
    def store(self) -> Store:
        return self._proxy

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(step)

    def open(self, rules: StoreRules, now: float) -> None:
        if self._ends:  # `close` of a worker leaves the store open for others; this closes it
            self._hang_up()
            self.run(self._store.close())
        super().open(rules, now)
        self._proxy = self.run(self._connect())

    async def _connect(self) -> Store:
        session = StoreSession(self._store, lambda: 0.0, longest_wait_s=0)
        ours, theirs = socket.socketpair()
        self._ends.append(await Channel.open(ours, [STORE], [session.serve(STORE)]))
        self._ends.append(await Channel.open(theirs, [STORE]))
        return STORE.proxy(self._ends[-1])

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


class RedisSetup:
    """A store in a Redis; whoever crashes leaves there what he had done."""

    forgets_the_uncommitted = False
    forgets_hosts = False

    def __init__(self, url: str, crawl: str) -> None:
        self._url = url
        self._crawl = crawl
        self._runner = asyncio.Runner()
        self._store: RedisStore | None = None
        self._reader: RedisReader | None = None
        self._reading = AsyncExitStack()

    @property
    def store(self) -> RedisStore:
        assert self._store is not None
        return self._store

    @property
    def reader(self) -> RedisReader:
        assert self._reader is not None
        return self._reader

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(step)

    def open(self, rules: StoreRules, now: float) -> None:
        self._let_go()
        how = Opening(take_over=True, clock="given", now=now, is_checked=True)
        self._store = self.run(open_redis(self._url, self._crawl, rules, how))
        request = ReadRequest(address=StoreAddress("redis", url=self._url), name=self._crawl)
        reading = open_redis_reader(request)
        self._reader = self.run(self._reading.enter_async_context(reading))

    def crash(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        """Leave without a word."""
        if self._store is not None:
            self.run(self._store.let_go())
        self.run(self._reading.aclose())

    def records(self) -> Iterable[UrlRecord]:
        return [one.record for one in self.run(listed(self.reader.urls()))]

    def pages(self) -> Iterable[PageRecord]:
        pages = self.run(listed(self.reader.pages()))
        depths = dict(self.run(listed(self.reader.depths())))
        assert depths == {one.id: one.depth for one in pages}
        return pages

    def attempts(self, url_id: int) -> list[Attempt]:
        return self.run(self.reader.attempts(url_id))

    def set_attempts(self, url_id: int, count: int) -> None:
        async def change() -> None:
            name = self.reader.crawl.key("urls")
            packed = await self.reader.crawl.client.hget(name, str(url_id))
            assert isinstance(packed, bytes)
            row = read_url(packed)
            changed = row._replace(attempts=[row.attempts[-1]] * count)
            await self.reader.crawl.client.hset(name, str(url_id), write_url(changed))

        self.run(change())

    def answer(self, page_id: int) -> KeptAnswer | None:
        return self.run(self.reader.answer(page_id))

    def results(self, after: int, limit: int) -> list[Result]:
        return self.run(self.reader.results(after, limit))

    def last_result(self) -> int:
        return self.run(self.reader.last_result())

    def last_page(self) -> int:
        return self.run(self.store.counts()).last_page

    def gaps(self) -> frozenset[int]:
        return frozenset(self.run(self.store.counts()).gaps)

    def close(self) -> None:
        self._let_go()
        self.run(delete_crawl(parse_address(self._url), self._crawl))
        self._runner.close()


async def listed(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def run_at_once(step: Coroutine[Any, Any, T]) -> T:
    """Take a step that does not wait for anything; an event loop for each would cost far more."""
    try:
        step.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the store waits for something")
