"""Copies a crawl out of Redis into tables, as it is at one moment, while others work on it.

Everything is read in batches; from the first on the scripts note which URLs they change (`watched`,
`changed` in `keys`). Those are read again, until few are left: they are read in one step together
with the counters, and that step is the moment. URLs, links, pages and counters are then of that
moment exactly. What nothing depends on, the pace of hosts and the credits of domains, may be a
little older or newer. Nobody waits for the copy; it costs each step that changes URLs two commands.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.redis import library
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.records import NOBODY, UNREADABLE, UrlRow, read_host, read_url
from gossamer.stores.redis.unpack import unpack_page
from gossamer.stores.rules import StoreRules
from gossamer.transfer.export_state import CopiedCrawl, read_state, with_notes
from gossamer.transfer.sqlite_importer import SqliteImporter

URLS_AT_ONCE = 1000
BODIES_AT_ONCE = 50
FEW = 2000
"""So many URLs may be left for the step that is the moment."""
WATCH_S = 60
"""How long the scripts note changes after the last word of who copies."""
NOTED_S = 3600
"""How long changes are kept after the last one."""
_NAME_BYTES = 5
"""How long the name of a page in a band is."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What is copied beside URLs, hosts, pages and counters."""

    links: bool = False
    """Under which keys URLs are known, and where their links lead."""
    bodies: bool = False
    sketches: bool = False


EVERYTHING = Parts(links=True, bodies=True, sketches=True)


async def export(
    crawl: CrawlClient,
    rules: StoreRules,
    connection: sqlite3.Connection,
    wanted: Parts = EVERYTHING,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> CopiedCrawl:
    """Copy a crawl into the empty tables of a connection; return its counters.

    `tell` hears of how many URLs so many are copied.
    """
    importer = SqliteImporter(connection, rules.scheduler.queues)
    copy = _Copy(crawl, importer, wanted)
    watching = asyncio.create_task(copy.stay())
    try:
        await copy.begin(tell)
        state = await copy.catch_up(rules)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    await copy.end(rules.scheduler.delay_s)
    notes: Any = await crawl.client.hgetall(crawl.key("notes"))
    state = with_notes(msgspec.structs.replace(state, unreadable=copy.unreadable), notes)
    importer.finish(state.pending_depth_changes, state.notes)
    if state.is_closed:  # the workers to which they were assigned are gone
        connection.execute("UPDATE urls SET state = 1 WHERE state = 2")
    return state


class _Copy:
    """One copy under way: `begin`, then `catch_up`, then `end`."""

    def __init__(self, crawl: CrawlClient, importer: SqliteImporter, wanted: Parts) -> None:
        self._crawl = crawl
        self._client = crawl.client
        self._importer = importer
        self._parts = wanted
        self._since = 0
        self._pages: set[int] = set()
        """The pages that are copied."""
        self.unreadable: list[str] = []

    async def begin(self, tell: Callable[[int, int], None]) -> None:
        """Copy URLs and pages as they are by and by."""
        self._since = await self._watch()
        urls = await self._counted("urls")
        for numbers in _cut(range(1, urls + 1), URLS_AT_ONCE):
            await self._copy_urls(numbers)
            tell(numbers[-1], urls)
        cursor = 0
        while True:
            answer: Any = await self._client.hscan(self._key("pages"), cursor, count=URLS_AT_ONCE)
            cursor, found = answer
            await self._keep_pages({int(number): packed for number, packed in found.items()})
            if not cursor:
                return

    async def end(self, delay_s: float) -> None:
        """Copy what nothing depends on, or what only grows."""
        last_host = await self._counted("hosts")
        for hosts in _cut(range(1, last_host + 1), URLS_AT_ONCE):
            await self._copy_hosts(hosts, delay_s)
        await self._copy_credits()
        if self._parts.links:
            await self._copy_keys()
        if self._parts.sketches:
            await self._copy_bands()

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
        start = self._crawl.prefix
        while True:
            answer = await library.call(self._client, "catch_up", start, self._since, FEW)
            if answer is None:
                raise CrawlError("the store was silent for too long to copy the crawl: try again")
            self._since, ids = int(answer[0]), [*map(int, answer[1])]
            if len(answer) > 2:
                await self._copy_pages(self._take_urls(ids, *answer[2:4]))
                return read_state(answer[4:], rules)
            for some in _cut(ids, URLS_AT_ONCE):
                await self._copy_pages(await self._copy_urls(some))

    async def _copy_urls(self, ids: Sequence[int]) -> list[int]:
        """Copy URLs; return the numbers of their pages."""
        names = [*map(str, ids)]
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hmget(self._key("urls"), names)
            if self._parts.links:
                pipe.hmget(self._key("targets"), names)
            urls, *links = await pipe.execute()
        nowhere: list[bytes | None] = [None] * len(ids)
        return self._take_urls(ids, urls, links[0] if links else nowhere)

    def _take_urls(
        self,
        ids: Sequence[int],
        urls: Sequence[bytes | None],
        targets: Sequence[bytes | None],
    ) -> list[int]:
        """Take in records; return the numbers of the pages of these URLs."""
        rows: list[tuple[int, UrlRow, bytes | None]] = []
        for url_id, packed, leads_to in zip(ids, urls, targets, strict=True):
            if packed is None:
                continue  # one that is missing is noticed when all are counted
            try:
                row = read_url(packed)
            except UNREADABLE as error:
                self.unreadable.append(f"the record of URL {url_id} cannot be read: {error}")
            else:
                rows.append((url_id, row, leads_to))
        self._importer.add_urls(rows)
        return [row.page for _, row, _ in rows if row.page]

    async def _copy_pages(self, numbers: Iterable[int]) -> None:
        """Copy pages that are not copied yet: once written they stay as they are."""
        wanted = [number for number in numbers if number not in self._pages]
        for some in _cut(wanted, URLS_AT_ONCE):
            found: Any = await self._client.hmget(self._key("pages"), [*map(str, some)])
            there = zip(some, found, strict=True)
            # Others are claimed and not kept so far.
            await self._keep_pages({number: packed for number, packed in there if packed})

    async def _keep_pages(self, records: Mapping[int, bytes]) -> None:
        """Keep records, and copy what belongs to them."""
        found: dict[int, float] = {}
        rows = []
        for number in sorted(records):
            try:
                page = unpack_page(records[number])
            except UNREADABLE as error:
                self.unreadable.append(f"the record of page {number} cannot be read: {error}")
            else:
                rows.append((number, page.fetched_at, page.url_id, page.note))
                found[number] = page.fetched_at
        self._importer.add_pages(rows)
        self._pages.update(found)
        for some in _cut([*found], BODIES_AT_ONCE):
            if self._parts.bodies:
                await self._copy_bodies(some, found)
            if self._parts.sketches:
                await self._copy_samples(some)

    async def _copy_bodies(self, numbers: Sequence[int], fetched_at: Mapping[int, float]) -> None:
        names = [f"{self._key('content')}{number}" for number in numbers]
        bodies: Any = await self._client.mget(names)
        there = zip(numbers, bodies, strict=True)
        self._importer.add_bodies((n, fetched_at[n], body) for n, body in there if body)

    async def _copy_samples(self, numbers: Sequence[int]) -> None:
        names = [f"{self._key('sample')}{number}" for number in numbers]
        samples: Any = await self._client.mget(names)
        there = zip(numbers, samples, strict=True)
        self._importer.add_samples((n, sample[len(NOBODY) :]) for n, sample in there if sample)

    async def _copy_hosts(self, numbers: Sequence[int], delay_s: float) -> None:
        packed: Any = await self._client.hmget(self._key("hosts"), [*map(str, numbers)])
        hosts = []
        for number, record in zip(numbers, packed, strict=True):
            try:
                host = read_host(record or b"")
            except UNREADABLE as error:
                self.unreadable.append(f"the record of host {number} cannot be read: {error}")
                continue
            hosts.append((number, host))
        self._importer.add_hosts(hosts, delay_s)

    async def _copy_credits(self) -> None:
        found: Any = await self._client.hgetall(self._key("credits"))
        self._importer.add_credits((name.decode(), float(value)) for name, value in found.items())

    async def _copy_keys(self) -> None:
        """Copy the keys of URLs; none ever changes or goes away, so that they may come last."""
        cursor = 0
        while True:
            answer: Any = await self._client.hscan(self._key("known"), cursor, count=URLS_AT_ONCE)
            cursor, found = answer
            self._importer.add_keys((name, int(url_id)) for name, url_id in found.items())
            if not cursor:
                return

    async def _copy_bands(self) -> None:
        """Copy which bands pages have, out of which pages bands have."""
        start = self._key("band").encode()
        cursor = 0
        while True:
            answer: Any = await self._client.scan(cursor, match=start + b"*", count=URLS_AT_ONCE)
            cursor, names = answer
            values: Any = await self._client.mget(names) if names else []
            self._importer.add_bands(_bands(start, names, values))
            if not cursor:
                return

    async def _counted(self, name: str) -> int:
        return int(await self._client.hget(self._key("counts"), name) or 0)

    def _key(self, name: str) -> str:
        return self._crawl.key(name)


def _cut(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[first : first + size] for first in range(0, len(numbers), size))


def _bands(
    start: bytes, names: Sequence[bytes], values: Sequence[bytes | None]
) -> Iterator[tuple[int, int, bytes]]:
    """Yield page, position and band for each page that has one of these bands."""
    for name, pages in zip(names, values, strict=True):
        position, band = name[len(start)], name[len(start) + 1 :]
        for at in range(0, len(pages or b""), _NAME_BYTES):
            yield int.from_bytes((pages or b"")[at : at + _NAME_BYTES], "big"), position, band
