"""Copies a crawl out of Redis into tables, as it is at one moment, while others work on it.

Everything is read in batches; from the first on the scripts note which URLs they change (`watched`,
`changed` in `keys`). Those are read again, until few are left: they are read in one step together
with the counters, and that step is the moment. URLs, links, pages and counters are then of that
moment exactly. What nothing depends on, the pace of hosts and the credits of domains, may be a
little older or newer. Nobody waits for the copy; it costs each step that changes URLs two commands.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from redis.asyncio import Redis

from gossamer.errors import CrawlError
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.carrier import Carrier
from gossamer.stores.redis.export_state import CopiedCrawl, read_state
from gossamer.stores.redis.keys import key, prefix
from gossamer.stores.redis.records import NOBODY, UNREADABLE, UrlRow, read_host, read_url
from gossamer.stores.redis.scripts import script
from gossamer.stores.redis.unpack import unpack_page

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
    client: Redis,
    crawl: str,
    connection: sqlite3.Connection,
    parts: Parts = EVERYTHING,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> CopiedCrawl:
    """Copy a crawl into the empty tables of a connection; return how it is with the crawl.

    `tell` hears of how many URLs so many are copied.
    """
    laid_down = await client.get(key(crawl, "rules"))
    if not isinstance(laid_down, bytes):
        raise CrawlError(f"the store has no crawl with the name {crawl}")
    rules = stored.read(laid_down, crawl)
    carrier = Carrier(connection, rules.desk.queues)
    copy = _Copy(client, crawl, carrier, parts, tell)
    answer = await copy.run(rules.desk.delay_s)
    notes: Any = await client.hgetall(key(crawl, "notes"))
    state = read_state(answer, rules, notes, copy.unreadable)
    carrier.finish(state.untold, state.notes)
    if state.is_closed:  # the workers to which they were dealt are gone
        connection.execute("UPDATE urls SET place = 1 WHERE place = 2")
    return state


class _Copy:
    """One copy under way."""

    def __init__(
        self,
        client: Redis,
        crawl: str,
        carrier: Carrier,
        parts: Parts,
        tell: Callable[[int, int], None],
    ) -> None:
        self._client = client
        self._crawl = crawl
        self._carrier = carrier
        self._parts = parts
        self._tell = tell
        self._pages: set[int] = set()
        """The pages that are copied."""
        self.unreadable: list[str] = []

    async def run(self, delay_s: float) -> Sequence[Any]:
        """Copy everything; return the answer of the step that is the moment."""
        since = await self._watch()
        urls, last_page = await self._counted("urls", "page")
        for first in range(1, urls + 1, URLS_AT_ONCE):
            await self._copy_urls(range(first, min(first + URLS_AT_ONCE, urls + 1)))
            self._tell(min(first + URLS_AT_ONCE, urls), urls)
        await self._copy_pages(range(1, last_page + 1))
        answer = await self._catch_up(since)
        (last_host,) = await self._counted("hosts")
        for hosts in _cut(range(1, last_host + 1), URLS_AT_ONCE):
            await self._copy_hosts(hosts, delay_s)
        await self._copy_credits()
        if self._parts.links:
            await self._copy_keys()
        if self._parts.sketches:
            await self._copy_bands()
        return answer

    async def _watch(self) -> int:
        """Have changes noted from now on; return the number of the step before the first."""
        seconds, micros = await self._client.time()
        # Beyond every step that was counted before, of which changes may still be noted.
        first = seconds * 1_000_000 + micros
        await self._client.set(self._key("watched"), first, nx=True, ex=WATCH_S)
        return int(await self._client.get(self._key("watched")) or first)

    async def _catch_up(self, since: int) -> list[Any]:
        """Read again what was changed meanwhile, until it can be had in one step."""
        source, start = script("catch_up").source.decode(), prefix(self._crawl)
        while True:
            answer: Any = await self._client.eval(source, 1, start, since, FEW)
            if answer is None:
                raise CrawlError("the store was silent for too long to copy the crawl: try again")
            since, ids = int(answer[0]), [*map(int, answer[1])]
            if len(answer) > 2:
                pages = self._take_urls(ids, answer[2], answer[3])
                await self._copy_pages(pages)
                return list(answer)
            for some in _cut(ids, URLS_AT_ONCE):
                await self._copy_pages(await self._copy_urls(some))

    async def _copy_urls(self, ids: Sequence[int]) -> list[int]:
        """Copy URLs; return the numbers of their pages."""
        names = [*map(str, ids)]
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.expire(self._key("watched"), WATCH_S)
            pipe.expire(self._key("changed"), NOTED_S)
            pipe.hmget(self._key("urls"), names)
            if self._parts.links:
                pipe.hmget(self._key("targets"), names)
            _, _, urls, *targets = await pipe.execute()
        return self._take_urls(ids, urls, targets[0] if targets else [None] * len(ids))

    def _take_urls(
        self, ids: Sequence[int], urls: Sequence[bytes | None], targets: Sequence[bytes | None]
    ) -> list[int]:
        rows: list[tuple[int, UrlRow, bytes | None]] = []
        for url_id, packed, leads_to in zip(ids, urls, targets, strict=True):
            if packed is None:
                continue  # one that is missing is noticed when all are counted
            try:
                rows.append((url_id, read_url(packed), leads_to))
            except UNREADABLE as error:
                self.unreadable.append(f"the record of URL {url_id} cannot be read: {error}")
        self._carrier.add_urls(rows)
        return [row.page for _, row, _ in rows if row.page]

    async def _copy_pages(self, numbers: Iterable[int]) -> None:
        """Copy pages that are not copied yet: once written they stay as they are."""
        wanted = [number for number in numbers if number not in self._pages]
        for some in _cut(wanted, BODIES_AT_ONCE if self._parts.bodies else URLS_AT_ONCE):
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.expire(self._key("watched"), WATCH_S)
                pipe.expire(self._key("changed"), NOTED_S)
                pipe.hmget(self._key("pages"), [*map(str, some)])
                for name, is_wanted in self._beside_pages():
                    if is_wanted:
                        pipe.mget([f"{self._key(name)}{number}" for number in some])
                _, _, pages, *beside = await pipe.execute()
            self._take_pages(some, pages, beside)

    def _beside_pages(self) -> tuple[tuple[str, bool], ...]:
        return ("content", self._parts.bodies), ("sample", self._parts.sketches)

    def _take_pages(
        self,
        numbers: Sequence[int],
        pages: Sequence[bytes | None],
        beside: Sequence[Sequence[bytes | None]],
    ) -> None:
        rows, found = [], dict[int, float]()
        for number, packed in zip(numbers, pages, strict=True):
            if packed is None:
                continue  # claimed and not kept so far
            try:
                page = unpack_page(packed)
            except UNREADABLE as error:
                self.unreadable.append(f"the record of page {number} cannot be read: {error}")
            else:
                rows.append((number, page.fetched_at, page.url_id, page.note))
                found[number] = page.fetched_at
        self._pages.update(found)
        self._carrier.add_pages(rows)
        names = [name for name, is_wanted in self._beside_pages() if is_wanted]
        for name, values in zip(names, beside, strict=True):
            there = [(n, v) for n, v in zip(numbers, values, strict=True) if v and n in found]
            if name == "content":
                self._carrier.add_bodies((n, found[n], body) for n, body in there)
            else:
                self._carrier.add_samples((n, sample[len(NOBODY) :]) for n, sample in there)

    async def _copy_hosts(self, numbers: Sequence[int], delay_s: float) -> None:
        packed: Any = await self._client.hmget(self._key("hosts"), [*map(str, numbers)])
        hosts = []
        for number, record in zip(numbers, packed, strict=True):
            try:
                hosts.append((number, read_host(record or b"")))
            except UNREADABLE as error:
                self.unreadable.append(f"the record of host {number} cannot be read: {error}")
        self._carrier.add_hosts(hosts, delay_s)

    async def _copy_credits(self) -> None:
        found: Any = await self._client.hgetall(self._key("credits"))
        self._carrier.add_credits((name.decode(), float(value)) for name, value in found.items())

    async def _copy_keys(self) -> None:
        """Copy the keys of URLs; none ever changes or goes away, so that they may come last."""
        cursor = 0
        while True:
            answer: Any = await self._client.hscan(self._key("known"), cursor, count=URLS_AT_ONCE)
            cursor, found = answer
            self._carrier.add_keys((name, int(url_id)) for name, url_id in found.items())
            if not cursor:
                return

    async def _copy_bands(self) -> None:
        """Copy which bands pages have, out of which pages bands have."""
        start = self._key("band").encode()
        pattern = start + b"*"
        cursor = 0
        while True:
            answer: Any = await self._client.scan(cursor, match=pattern, count=URLS_AT_ONCE)
            cursor, names = answer
            values: Any = await self._client.mget(names) if names else []
            self._carrier.add_bands(_bands(start, names, values))
            if not cursor:
                return

    async def _counted(self, *names: str) -> list[int]:
        return [int(one or 0) for one in await self._client.hmget(self._key("counts"), names)]

    def _key(self, name: str) -> str:
        return key(self._crawl, name)


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
