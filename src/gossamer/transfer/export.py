"""Copies a crawl out of Redis into tables, as it is at one moment, while others work on it.

Everything is read in batches; from the first on the scripts note which URLs they change (`watched`,
`changed` in `keys`). Those are read again, until few are left: they are read in one step together
with the counters, and that step is the moment. URLs, links, pages and counters are then of that
moment exactly. What nothing depends on, the pace of hosts and the credits of domains, may be a
little older or newer. Nobody waits for the copy; it costs each step that changes URLs two commands.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec.structs import astuple

from gossamer.errors import CrawlError
from gossamer.frontier import SchedulerRules
from gossamer.stores.redis import library
from gossamer.stores.redis.counters import read_counters
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.records import (
    UNREADABLE,
    read_found,
    read_host,
    read_listing,
    read_result,
    read_url,
)
from gossamer.stores.redis.unpack import unpack_page
from gossamer.stores.rules import StoreRules
from gossamer.transfer.copied_crawl import CopiedCrawl, notes_of_file, read_state
from gossamer.transfer.sqlite_importer import SqliteImporter

T = TypeVar("T")

URLS_AT_ONCE = 1000
BODIES_AT_ONCE = 50
FEW = 2000
"""So many URLs may be left for the step that is the moment."""
WATCH_S = 60
"""How long the scripts note changes after the last word of who copies."""
NOTED_S = 3600
"""How long changes are kept after the last one."""


async def export(
    crawl: CrawlClient, rules: StoreRules, connection: sqlite3.Connection
) -> CopiedCrawl:
    """Copy a crawl into empty tables, without sketches of its pages; return its counters."""
    importer = SqliteImporter(connection, rules.scheduler.queues)
    copy = _Copy(crawl, importer)
    watching = asyncio.create_task(copy.stay())
    try:
        await copy.begin()
        state = await copy.catch_up(rules)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    await copy.end(rules.scheduler, state.results)
    notes: Any = await crawl.client.hgetall(crawl.key("notes"))
    importer.add_relaxing(state.relaxing)
    importer.finish(state.pending_depth_changes, notes_of_file(state, rules, notes))
    seconds, micros = await crawl.client.time()
    importer.note_expired(seconds + micros / 1e6 - rules.keep_s)
    if state.closed:  # the workers to which they were assigned are gone
        connection.execute("UPDATE urls SET state = 1 WHERE state = 2")
    return state


class _Copy:
    """One copy under way: `begin`, then `catch_up`, then `end`."""

    def __init__(self, crawl: CrawlClient, importer: SqliteImporter) -> None:
        self._crawl = crawl
        self._client = crawl.client
        self._key = crawl.key
        self._prefix = crawl.prefix
        self._importer = importer
        self._since = 0
        self._unreadable: list[str] = []

    async def begin(self) -> None:
        """Copy URLs and pages as they are by and by."""
        self._since = await self._watch()
        urls = await self._counted("urls")
        for numbers in cut(range(1, urls + 1), URLS_AT_ONCE):
            await self._copy_urls(numbers)
        async for found in self._scan("pages"):
            await self._copy_pages(map(int, found))

    async def end(self, rules: SchedulerRules, results: int) -> None:
        """Copy what nothing depends on, or what only grows."""
        for numbers in cut(range(1, results + 1), URLS_AT_ONCE):
            await self._copy_results(numbers)
        async for found in self._scan("given_scores"):
            self._importer.add_given_scores((float(one), int(url)) for url, one in found.items())
        last_host = await self._counted("hosts")
        for hosts in cut(range(1, last_host + 1), URLS_AT_ONCE):
            await self._copy_hosts(hosts, rules)
        credit: Any = await self._client.hgetall(self._key("credits"))
        rows = ((one.decode(), float(credit[one]), None, 0.0) for one in credit)
        self._importer.add("domains", rows)
        async for found in self._scan("listings"):
            for name, packed in found.items():
                listing = self._read(read_listing, packed, f"listing {name.decode()}")
                if listing is not None:
                    self._importer.add("listings", [(int(name), *astuple(listing))])
        async for found in self._scan("known"):
            self._importer.add_keys((name, read_found(one)) for name, one in found.items())

    async def _watch(self) -> int:
        """Have changes noted from now on; return the number of the step before the first."""
        seconds, micros = await self._client.time()
        # Beyond every step that was counted before, of which changes may still be noted.
        first = seconds * 1_000_000 + micros
        await self._client.set(self._key("watched"), first, nx=True, ex=WATCH_S)
        return int(await self._client.get(self._key("watched")) or first)

    async def stay(self) -> None:
        """Have changes noted for as long as it takes."""
        while True:
            await asyncio.sleep(WATCH_S / 4)
            await self._client.expire(self._key("watched"), WATCH_S)
            await self._client.expire(self._key("changed"), NOTED_S)

    async def catch_up(self, rules: StoreRules) -> CopiedCrawl:
        """Read again what was changed meanwhile, until it can be had in one step."""
        while True:
            answer = await library.call(self._client, "catch_up", self._prefix, self._since, FEW)
            if answer is None:
                raise CrawlError("the store was silent for too long to copy the crawl: try again")
            self._since, ids = int(answer[0]), [*map(int, answer[1])]
            if len(answer) > 2:
                await self._copy_pages(self._take_urls(ids, *answer[2:4]))
                return read_state(answer[4:], rules, self._unreadable)
            for some in cut(ids, URLS_AT_ONCE):
                await self._copy_pages(await self._copy_urls(some))

    async def _copy_urls(self, ids: Sequence[int]) -> list[int]:
        """Copy URLs; return the numbers of their pages."""
        names = [*map(str, ids)]
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hmget(self._key("urls"), names)
            pipe.hmget(self._key("targets"), names)
            return self._take_urls(ids, *await pipe.execute())

    def _take_urls(
        self,
        ids: Sequence[int],
        urls: Sequence[bytes | None],
        targets: Sequence[bytes | None],
    ) -> list[int]:
        """Take in records; return the numbers of the pages of these URLs."""
        rows = [
            (url_id, row, leads_to)
            for url_id, packed, leads_to in zip(ids, urls, targets, strict=True)
            # One that is missing is noticed when all are counted.
            if packed is not None and (row := self._read(read_url, packed, f"URL {url_id}"))
        ]
        self._importer.add_urls(rows)
        return [row.page for _, row, _ in rows if row.page]

    async def _copy_pages(self, numbers: Iterable[int]) -> None:
        """Copy pages with what belongs to them.

        One that is visited again while the copy is under way is copied once more.
        """
        for some in cut([*numbers], BODIES_AT_ONCE):
            # Of one page everything is read at once: the next version may come at any moment.
            async with self._client.pipeline(transaction=True) as pipe:
                pipe.hmget(self._key("pages"), [*map(str, some)])
                pipe.mget([f"{self._key('content')}{number}" for number in some])
                records, bodies = await pipe.execute()
            fetched_at = self._take_pages(some, records)
            self._importer.forget_contents(some)
            kept = zip(some, bodies, strict=True)
            self._importer.add(
                "contents",
                ((page, fetched_at[page], one) for page, one in kept if one and page in fetched_at),
            )

    def _take_pages(
        self, numbers: Sequence[int], records: Sequence[bytes | None]
    ) -> dict[int, float]:
        """Take in the records of pages; return when each was fetched."""
        fetched_at: dict[int, float] = {}
        for number, packed in zip(numbers, records, strict=True):
            # One without a record is claimed and not kept so far.
            page = self._read(unpack_page, packed, f"page {number}") if packed else None
            if page is not None:
                self._importer.add_page(number, page.fetched_at, page.url_id, page.note)
                fetched_at[number] = page.fetched_at
        return fetched_at

    async def _copy_hosts(self, numbers: Sequence[int], rules: SchedulerRules) -> None:
        packed: Any = await self._client.hmget(self._key("hosts"), [*map(str, numbers)])
        hosts = [
            (number, host)
            for number, record in zip(numbers, packed, strict=True)
            if (host := self._read(read_host, record or b"", f"host {number}"))
        ]
        self._importer.add_hosts(hosts, rules)

    async def _copy_results(self, numbers: Sequence[int]) -> None:
        """Copy results without their rows, which can be made again."""
        packed: Any = await self._client.lrange(
            self._key("results"), numbers[0] - 1, numbers[-1] - 1
        )
        results = [
            (number, url_id, page or None, settled_at, records or None)
            for number, one in zip(numbers, packed, strict=False)
            if (found := self._read(read_result, one, f"result {number}"))
            for url_id, page, settled_at, records in [found]
        ]
        self._importer.add("results", results)

    async def _scan(self, name: str) -> AsyncIterator[dict[bytes, bytes]]:
        """Yield the fields of a hash in parts."""
        cursor = 0
        while True:
            answer: Any = await self._client.hscan(self._key(name), cursor, count=URLS_AT_ONCE)
            cursor, found = answer
            yield found
            if not cursor:
                return

    def _read(self, read: Callable[[bytes], T], packed: bytes, what: str) -> T | None:
        try:
            return read(packed)
        except UNREADABLE as error:
            self._unreadable.append(f"the record of {what} cannot be read: {error}")
            return None

    async def _counted(self, name: str) -> int:
        return int((await read_counters(self._crawl))[name])


def cut(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Return the numbers in runs of that size."""
    return (numbers[first : first + size] for first in range(0, len(numbers), size))
