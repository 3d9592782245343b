"""Copies one part of a crawl out of Redis, as it is at one moment, while others work on it.

Everything is read in batches; from the first on the scripts note which URLs they change (`watched`,
`changed` in `keys`). Those are read again, until few are left: they are read in one step together
with the counters, and that step is the moment. URLs, links, pages and counters are then of that
moment exactly. What nothing depends on, the pace of hosts and the credits of domains, may be a
little older or newer. Nobody waits for the copy; it costs each step that changes URLs two commands.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.redis.branches import Branch
from gossamer.stores.redis.carrier import Carrier
from gossamer.stores.redis.export_state import PartState, read_state
from gossamer.stores.redis.partitions import partition_of
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


class PartCopy:
    """One copy under way: `begin`, then `catch_up` as often as one likes, then `end`."""

    def __init__(self, branch: Branch, centre: Branch, carrier: Carrier, wanted: Parts) -> None:
        self._branch = branch
        self._client = branch.client
        self._centre = centre
        self._carrier = carrier
        self._parts = wanted
        self._since = 0
        self._pages: set[int] = set()
        """The pages that are copied."""
        self.unreadable: list[str] = []
        self.misplaced: list[str] = []
        """Hosts that belong into another partition."""

    def __repr__(self) -> str:
        return f"<PartCopy: {self._branch.prefix}>"

    async def begin(self, tell: Callable[[int], None]) -> None:
        """Copy URLs and pages as they are by and by; `tell` hears how many URLs were read."""
        self._since = await self._watch()
        urls = await self._counted("urls")
        for numbers in _cut(range(1, urls + 1), URLS_AT_ONCE):
            await self._copy_urls([*map(self._branch.wide, numbers)])
            tell(len(numbers))
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

    async def _watch(self) -> int:
        """Have changes noted from now on; return the number of the step before the first."""
        seconds, micros = await self._client.time()
        # Beyond every step that was counted before, of which changes may still be noted.
        first = seconds * 1_000_000 + micros
        await self._client.set(self._key("watched"), first, nx=True, ex=WATCH_S)
        return int(await self._client.get(self._key("watched")) or first)

    async def stay(self) -> None:
        """Have changes noted for longer."""
        await self._client.expire(self._key("watched"), WATCH_S)
        await self._client.expire(self._key("changed"), NOTED_S)

    async def catch_up(self) -> PartState:
        """Read again what was changed meanwhile, until it can be had in one step."""
        source, start = script("catch_up").source.decode(), self._branch.prefix
        while True:
            answer: Any = await self._client.eval(source, 1, start, self._since, FEW)
            if answer is None:
                raise CrawlError("the store was silent for too long to copy the crawl: try again")
            self._since, ids = int(answer[0]), [*map(int, answer[1])]
            if len(answer) > 2:
                await self._copy_pages(self._take_urls(ids, *answer[2:5]))
                return read_state(answer[5:])
            for some in _cut(ids, URLS_AT_ONCE):
                await self._copy_pages(await self._copy_urls(some))

    async def _copy_urls(self, ids: Sequence[int]) -> list[int]:
        """Copy URLs; return the numbers of their pages."""
        names = [*map(str, ids)]
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hmget(self._key("urls"), names)
            if self._parts.links:
                pipe.hmget(self._key("targets"), names)
            if self._parts.links and self._branch.count > 1:
                pipe.hmget(self._key("abroad"), names)
            urls, *links = await pipe.execute()
        nowhere: list[bytes | None] = [None] * len(ids)
        return self._take_urls(ids, urls, *[*links, nowhere, nowhere][:2])

    def _take_urls(
        self,
        ids: Sequence[int],
        urls: Sequence[bytes | None],
        targets: Sequence[bytes | None],
        abroad: Sequence[bytes | None],
    ) -> list[int]:
        """Take in records; return the numbers of the pages of these URLs."""
        rows: list[tuple[int, UrlRow, bytes | None, bytes | None]] = []
        for url_id, packed, *links in zip(ids, urls, targets, abroad, strict=True):
            if packed is None:
                continue  # one that is missing is noticed when all are counted
            try:
                row = read_url(packed)
            except UNREADABLE as error:
                self.unreadable.append(f"the record of URL {url_id} cannot be read: {error}")
            else:
                row = row._replace(host=self._branch.wide(row.host))
                rows.append((url_id, row, links[0], links[1]))
        self._carrier.add_urls(rows)
        return [row.page for _, row, _, _ in rows if row.page]

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
        self._carrier.add_pages(rows)
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
        self._carrier.add_bodies((n, fetched_at[n], body) for n, body in there if body)

    async def _copy_samples(self, numbers: Sequence[int]) -> None:
        names = [f"{self._centre.key('sample')}{number}" for number in numbers]
        samples: Any = await self._centre.client.mget(names)
        there = zip(numbers, samples, strict=True)
        self._carrier.add_samples((n, sample[len(NOBODY) :]) for n, sample in there if sample)

    async def _copy_hosts(self, numbers: Sequence[int], delay_s: float) -> None:
        packed: Any = await self._client.hmget(self._key("hosts"), [*map(str, numbers)])
        hosts, own = [], self._branch
        for number, record in zip(numbers, packed, strict=True):
            try:
                host = read_host(record or b"")
            except UNREADABLE as error:
                self.unreadable.append(f"the record of host {number} cannot be read: {error}")
                continue
            hosts.append((own.wide(number), host))
            if (home := partition_of(host.domain, own.count)) != own.number:
                self.misplaced.append(
                    f"{host.name} is in partition {own.number}, and belongs into {home}"
                )
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

    async def _counted(self, name: str) -> int:
        return int(await self._client.hget(self._key("counts"), name) or 0)

    def _key(self, name: str) -> str:
        return self._branch.key(name)


def _cut(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[first : first + size] for first in range(0, len(numbers), size))


async def copy_bands(centre: Branch, carrier: Carrier) -> None:
    """Copy which bands pages have, out of which pages bands have."""
    start = centre.key("band").encode()
    cursor = 0
    while True:
        answer: Any = await centre.client.scan(cursor, match=start + b"*", count=URLS_AT_ONCE)
        cursor, names = answer
        values: Any = await centre.client.mget(names) if names else []
        carrier.add_bands(_bands(start, names, values))
        if not cursor:
            return


def _bands(
    start: bytes, names: Sequence[bytes], values: Sequence[bytes | None]
) -> Iterator[tuple[int, int, bytes]]:
    """Yield page, position and band for each page that has one of these bands."""
    for name, pages in zip(names, values, strict=True):
        position, band = name[len(start)], name[len(start) + 1 :]
        for at in range(0, len(pages or b""), _NAME_BYTES):
            yield int.from_bytes((pages or b"")[at : at + _NAME_BYTES], "big"), position, band
