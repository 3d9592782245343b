"""Brings the rows of a crawl into Redis."""

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Self

import msgspec
from redis.asyncio.client import Pipeline
from redis.typing import EncodableT

from gossamer.frontier import QueueTable
from gossamer.stores.contract import UrlState
from gossamer.stores.embedded import host_registry
from gossamer.stores.redis.alive import AT_WORK, IN_ORDER
from gossamer.stores.redis.constants import LONGEST_MS
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.records import (
    NOBODY,
    PackedAttempt,
    name_of,
    write_host,
    write_page,
    write_targets,
    write_url,
)
from gossamer.stores.rules import StoreRules
from gossamer.transfer import tables
from gossamer.transfer.export_state import LEASES_OF_A_START

URLS_AT_ONCE = 2000
BODIES_AT_ONCE = 50
BAND_BYTES = 8
COUNTERS = frozenset({"bytes", "closed", "queues", "starts", "unsure_since"})
"""Notes that are counters in Redis."""

_ENDED = {b"yes": IN_ORDER, b"no": AT_WORK}

Fields = dict[EncodableT, EncodableT]


class Notes(msgspec.Struct, frozen=True):
    """The notes of a crawl in a file."""

    counters: Mapping[str, bytes]
    own: Mapping[str, bytes]
    """Those that are notes in Redis, too."""

    @classmethod
    def read(cls, db: sqlite3.Connection) -> Self:
        """Return what a file has."""
        notes = {name: bytes(value) for name, value in db.execute("SELECT * FROM notes")}
        counters = {name: notes.pop(name) for name in COUNTERS if name in notes}
        return cls(counters, notes)


class _Portion:
    """URLs that are written together."""

    def __init__(self) -> None:
        self.known: Fields = {}
        self.urls: Fields = {}
        self.targets: Fields = {}
        self.line: dict[str, float] = {}
        self.queued: defaultdict[int, dict[bytes, float]] = defaultdict(dict)


class Restoration:
    """One restoration under way: its steps are to be done in their order."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        crawl: CrawlClient,
        rules: StoreRules,
    ) -> None:
        self._db = connection
        self._crawl = crawl
        self._client = crawl.client
        self._rules = rules
        self._table = QueueTable(rules.scheduler.queues)
        self._states: Counter[int] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._depths: Counter[str] = Counter()
        self._queues: Counter[int] = Counter()
        self._counts: Fields = {}

    def __repr__(self) -> str:
        return f"<Restoration: {self._crawl.prefix}>"

    async def urls(self) -> AsyncIterator[int]:
        """Write URLs, by id and by key, their links and where they wait; yield how many."""
        total = last = 0
        for some in tables.portions(tables.urls(self._db), URLS_AT_ONCE):
            portion = _Portion()
            for url, attempts in some:
                self._take_url(portion, url, attempts)
                last = url.id
            await self._write(portion)
            total += len(some)
            yield len(some)
        self._counts |= {
            "urls": last,
            "line": total,
            "unscored": self._states[UrlState.UNSCORED],
            "queued": self._states[UrlState.QUEUED],
            "too_deep": self._states[UrlState.TOO_DEEP],
        }

    def _take_url(
        self, portion: _Portion, url: tables.TableUrl, attempts: Sequence[PackedAttempt]
    ) -> None:
        record = url.record(attempts)
        portion.known[url.key] = url.id
        portion.urls[url.id] = write_url(record)
        if url.targets:
            portion.targets[url.id] = write_targets(url.links())
        self._states[record.state] += 1
        self._depths[f"urls:{record.depth}"] += 1
        match record.state:
            case UrlState.UNSCORED:
                portion.line[str(url.id)] = url.id
            case UrlState.QUEUED:
                portion.queued[url.host][name_of(url.id)] = record.score
                self._queues[self._table.queue_of(record.score)] += 1
            case UrlState.DONE:
                self._outcomes[url.outcome] += 1
                self._depths[f"done:{record.depth}"] += 1
                if record.page:
                    self._depths[f"pages:{record.depth}"] += 1

    async def _write(self, portion: _Portion) -> None:
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hset(self._key("known"), mapping=portion.known)
            pipe.hset(self._key("urls"), mapping=portion.urls)
            if portion.targets:
                pipe.hset(self._key("targets"), mapping=portion.targets)
            if portion.line:
                pipe.zadd(self._key("url_queue"), portion.line)
            for host, scores in portion.queued.items():
                pipe.zadd(f"{self._key('queued')}{host}", scores)
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
        if slowest := tables.slowest(self._db, host_registry.SLOW_HOSTS):
            await self._client.zadd(self._key("slow"), slowest)
        credit = tables.credit(self._db)
        if credit:
            await self._client.hset(self._key("credits"), mapping=dict(credit.items()))
        top = max(credit.values(), default=0.0)
        self._counts |= {"hosts": last, "met": met, "credit": top}

    async def pages(self) -> None:
        """Write pages."""
        count = 0
        for some in tables.portions(tables.pages(self._db), URLS_AT_ONCE):
            records: Fields = {
                str(page.id): write_page(page.fetched_at, page.url, page.note()) for page in some
            }
            count += len(some)
            await self._client.hset(self._key("pages"), mapping=records)
        if pending_depth_changes := tables.pending_depth_changes(self._db):
            await self._client.hset(
                self._key("depth_changes"), mapping=dict(pending_depth_changes.items())
            )
        self._counts |= {"pages": count}

    async def bodies(self) -> None:
        """Write contents, each for the rest of its time."""
        seconds, micros = await self._client.time()
        now, ttl_s = seconds + micros / 1e6, self._rules.ttl_s
        kept = tables.bodies(self._db, now - ttl_s)
        for some in tables.portions(kept, BODIES_AT_ONCE):
            async with self._client.pipeline(transaction=False) as pipe:
                for page in some:
                    left_ms = milliseconds(page.fetched_at + ttl_s - now)
                    pipe.set(f"{self._key('content')}{page.id}", page.body, px=left_ms)
                await pipe.execute()

    async def numbers(self) -> None:
        """Write the last number of a page, and which smaller ones are free."""
        last = 0
        rows = self._db.execute("SELECT id FROM pages ORDER BY id")
        for some in tables.portions(rows, URLS_AT_ONCE):
            free: dict[str, float] = {}
            for (number,) in some:
                free |= {str(one): one for one in range(last + 1, number)}
                last = number
            if free:
                await self._client.zadd(self._key("free"), free)
        self._counts |= {"page": last}

    async def marks(self) -> None:
        """Write digests and sketches, each for the rest of its time."""
        seconds, micros = await self._client.time()
        now = seconds + micros / 1e6
        kept = tables.marks(self._db, now - self._rules.ttl_s)
        for some in tables.portions(kept, BODIES_AT_ONCE):
            async with self._client.pipeline(transaction=False) as pipe:
                for mark in some:
                    left_s = mark.fetched_at + self._rules.ttl_s - now
                    self._write_mark(pipe, mark, milliseconds(left_s))
                await pipe.execute()

    def _write_mark(self, pipe: Pipeline, page: tables.TableMark, left_ms: int) -> None:
        kept = write_page(page.fetched_at, page.id, NOBODY)
        pipe.set(self._key("digest").encode() + page.digest, kept, px=left_ms)
        if page.sample is None or page.bands is None:
            return
        pipe.set(f"{self._key('sample')}{page.id}", NOBODY + page.sample, px=left_ms)
        longest = milliseconds(self._rules.ttl_s + self._rules.scheduler.lease_s)
        for at in range(0, len(page.bands), BAND_BYTES):
            position = bytes([(at // BAND_BYTES + 1) % 256])
            name = self._key("band").encode() + position + page.bands[at : at + BAND_BYTES]
            pipe.append(name, name_of(page.id))
            pipe.pexpire(name, longest)

    async def counters(self, notes: Notes) -> None:
        """Write the counters."""
        found = notes.counters
        starts = int(found.get("starts", b"0"))
        started, last = tables.attempted_between(self._db)
        self._counts |= {
            "started": started,
            "last": last,
            "bytes": int(found.get("bytes", b"0")),
            "closed": _ENDED.get(found.get("closed", b""), 0),
            "unsure": max(float(found.get("unsure_since", b"-inf")), 0.0),
            # Beyond every lease that was given before.
            "lease": ((starts + 1) << LEASES_OF_A_START) - 1 if starts else 0,
        }
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.hset(self._key("counts"), mapping=self._counts)
            for name, counted in (
                ("outcomes", self._outcomes),
                ("depths", self._depths),
                ("queue_counts", self._queues),
            ):
                for field, count in counted.items():
                    pipe.hset(self._key(name), str(field), count)
            await pipe.execute()

    def _key(self, name: str) -> str:
        return self._crawl.key(name)


def milliseconds(seconds: float) -> int:
    """Return for how long the server is to keep something."""
    return min(max(1, math.ceil(seconds * 1000)), LONGEST_MS)
