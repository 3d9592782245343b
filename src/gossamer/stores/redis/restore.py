"""Brings a crawl out of the tables of a file into Redis, whole, so that it goes on there.

What was dealt or in work waits again. No host has a place in a ring: those with something to do are
parked until their moment, from where the router fetches them. While the copy is under way nobody
can open the crawl: its rules, which come last, are a placeholder that is none.
"""

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.typing import EncodableT

from gossamer.errors import CrawlError
from gossamer.stores import host_book
from gossamer.stores.contract import Place
from gossamer.stores.ledger import StoreRules
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis import tables
from gossamer.stores.redis.export_state import AT_WORK, IN_ORDER, LEASES_OF_A_START
from gossamer.stores.redis.keys import REGISTRY, key
from gossamer.stores.redis.messages import PageNote, pack
from gossamer.stores.redis.records import (
    NOBODY,
    PackedAttempt,
    name_of,
    write_host,
    write_page,
    write_targets,
    write_url,
)
from gossamer.stores.redis.scripts import LONGEST_MS

URLS_AT_ONCE = 2000
BODIES_AT_ONCE = 50
PLACEHOLDER = b"being restored"
BAND_BYTES = 8
OWN_NOTES = frozenset({"bytes", "closed", "queues", "starts", "unsure_since"})
"""Notes that are counters in Redis."""

_ENDED = {b"yes": IN_ORDER, b"no": AT_WORK}

Fields = dict[EncodableT, EncodableT]


async def restore(
    connection: sqlite3.Connection,
    client: Redis,
    crawl: str,
    rules: StoreRules,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> None:
    """Write the crawl that a connection sees into Redis, where there is none of that name.

    `tell` hears of how many URLs so many are written.
    """
    if not await client.set(key(crawl, "rules"), PLACEHOLDER, nx=True):
        raise CrawlError(f"the store has a crawl with the name {crawl} already")
    seconds, micros = await client.time()
    work = _Restoration(connection, client, crawl, rules, seconds + micros / 1e6)
    await work.urls(tell)
    await work.hosts()
    await work.pages()
    await work.bodies()
    await work.notes()
    await client.sadd(REGISTRY, crawl)
    await client.set(key(crawl, "rules"), stored.write(rules))


class _Portion:
    """URLs that are written together."""

    def __init__(self) -> None:
        self.known: Fields = {}
        self.urls: Fields = {}
        self.targets: Fields = {}
        self.line: dict[str, float] = {}
        self.shelves: defaultdict[int, dict[bytes, float]] = defaultdict(dict)


class _Restoration:
    """One restoration under way."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        client: Redis,
        crawl: str,
        rules: StoreRules,
        now: float,
    ) -> None:
        self._db = connection
        self._client = client
        self._crawl = crawl
        self._rules = rules
        self._now = now
        self._places: Counter[int] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._counts: Fields = {}

    async def urls(self, tell: Callable[[int, int], None]) -> None:
        """Write URLs, by id and by key, their links and where they wait."""
        total, done = self._count("SELECT count(*) FROM urls"), 0
        for some in tables.portions(tables.urls(self._db), URLS_AT_ONCE):
            portion = _Portion()
            for url, attempts in some:
                self._take_url(portion, url, attempts)
            await self._write(portion)
            done += len(some)
            tell(done, total)
        self._counts |= {
            "urls": self._count("SELECT coalesce(max(id), 0) FROM urls"),
            "line": total,
            "unscored": self._places[Place.UNSCORED],
            "shelved": self._places[Place.SHELVED],
        }

    def _take_url(
        self, portion: _Portion, url: tables.TableUrl, attempts: Sequence[PackedAttempt]
    ) -> None:
        record = url.record(attempts)
        portion.known[url.key] = url.id
        portion.urls[url.id] = write_url(record)
        if url.targets:
            portion.targets[url.id] = write_targets(url.leads_to())
        self._places[record.place] += 1
        match record.place:
            case Place.UNSCORED:
                portion.line[str(url.id)] = url.id
            case Place.SHELVED:
                portion.shelves[url.host][name_of(url.id)] = record.score
            case Place.FINISHED:
                self._outcomes[url.outcome] += 1

    async def _write(self, portion: _Portion) -> None:
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hset(self._key("known"), mapping=portion.known)
            pipe.hset(self._key("urls"), mapping=portion.urls)
            if portion.targets:
                pipe.hset(self._key("targets"), mapping=portion.targets)
            if portion.line:
                pipe.zadd(self._key("line"), portion.line)
            for host, scores in portion.shelves.items():
                pipe.zadd(f"{self._key('shelf')}{host}", scores)
            await pipe.execute()

    async def hosts(self) -> None:
        """Write hosts, and the importance of domains."""
        last = met = 0
        for some in tables.portions(tables.hosts(self._db), URLS_AT_ONCE):
            records: Fields = {host.id: write_host(host.record()) for host in some}
            names: Fields = {host.key: host.id if host.is_met else -host.id for host in some}
            parked = {str(host.id): host.next_start for host in some if host.waiting}
            await self._client.hset(self._key("hosts"), mapping=records)
            await self._client.hset(self._key("host_ids"), mapping=names)
            if parked:
                await self._client.zadd(self._key("parked"), parked)
            last, met = some[-1].id, met + sum(host.is_met for host in some)
        slowest = self._db.execute(
            "SELECT id, took_s / requests FROM hosts WHERE requests ORDER BY 2 DESC LIMIT ?",
            (host_book.SLOW_HOSTS,),
        )
        if slow := {str(number): mean for number, mean in slowest}:
            await self._client.zadd(self._key("slow"), slow)
        credit: Fields = dict(self._db.execute("SELECT name, credit FROM domains"))
        if credit:
            await self._client.hset(self._key("credits"), mapping=credit)
        top = self._db.execute("SELECT coalesce(max(credit), 0.0) FROM domains").fetchone()
        self._counts |= {"hosts": last, "met": met, "credit": top[0]}

    async def pages(self) -> None:
        """Write pages and which numbers are free."""
        count = last = 0
        free: list[int] = []
        for some in tables.portions(tables.pages(self._db), URLS_AT_ONCE):
            records: Fields = {}
            for page in some:
                free += range(last + 1, page.id)
                last = page.id
                records[str(page.id)] = write_page(page.fetched_at, page.url, _note(page))
            count += len(some)
            await self._client.hset(self._key("pages"), mapping=records)
        if free:
            await self._client.zadd(self._key("free"), {str(number): number for number in free})
        untold: Fields = dict(
            self._db.execute(
                "SELECT pages.id, urls.id FROM pages JOIN urls ON urls.id = pages.url "
                "WHERE told_depth <> depth"
            )
        )
        if untold:
            await self._client.hset(self._key("untold"), mapping=untold)
        self._counts |= {"pages": count, "page": last}

    async def bodies(self) -> None:
        """Write contents, digests and sketches, each for the rest of its time."""
        ttl_s = self._rules.ttl_s
        kept = tables.bodies(self._db, self._now - ttl_s)
        for some in tables.portions(kept, BODIES_AT_ONCE):
            async with self._client.pipeline(transaction=False) as pipe:
                for page in some:
                    self._write_body(pipe, page, _milliseconds(page.fetched_at + ttl_s - self._now))
                await pipe.execute()

    def _write_body(self, pipe: Pipeline, page: tables.TableBody, left_ms: int) -> None:
        kept = write_page(page.fetched_at, page.id, NOBODY)
        pipe.set(self._key("digest").encode() + page.digest, kept, px=left_ms)
        if page.body is not None:
            pipe.set(f"{self._key('content')}{page.id}", page.body, px=left_ms)
        if page.sample is None or page.bands is None:
            return
        pipe.set(f"{self._key('sample')}{page.id}", NOBODY + page.sample, px=left_ms)
        longest = _milliseconds(self._rules.ttl_s + self._rules.desk.lease_s)
        for at in range(0, len(page.bands), BAND_BYTES):
            position = bytes([(at // BAND_BYTES + 1) % 256])
            name = self._key("band").encode() + position + page.bands[at : at + BAND_BYTES]
            pipe.append(name, name_of(page.id))
            pipe.pexpire(name, longest)

    async def notes(self) -> None:
        """Write the counters, and the notes that are none."""
        notes = {name: bytes(value) for name, value in self._db.execute("SELECT * FROM notes")}
        starts = int(notes.get("starts", b"0"))
        self._counts |= {
            "bytes": int(notes.get("bytes", b"0")),
            "closed": _ENDED.get(notes.get("closed", b""), 0),
            "unsure": max(float(notes.get("unsure_since", b"-inf")), 0.0),
            # Beyond every lease that was given before.
            "lease": ((starts + 1) << LEASES_OF_A_START) - 1 if starts else 0,
        }
        own: Fields = {name: value for name, value in notes.items() if name not in OWN_NOTES}
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hset(self._key("counts"), mapping=self._counts)
            for outcome, count in self._outcomes.items():
                pipe.hset(self._key("outcomes"), outcome, count)
            if own:
                pipe.hset(self._key("notes"), mapping=own)
            await pipe.execute()

    def _count(self, query: str) -> int:
        (found,) = self._db.execute(query).fetchone()
        return int(found)

    def _key(self, name: str) -> str:
        return key(self._crawl, name)


def _note(page: tables.TablePage) -> bytes:
    return pack(
        PageNote(
            size=page.size,
            digest=page.digest,
            content_type=page.content_type,
            encoding=page.encoding,
            title=page.title,
        )
    )


def _milliseconds(seconds: float) -> int:
    return min(max(1, math.ceil(seconds * 1000)), LONGEST_MS)
