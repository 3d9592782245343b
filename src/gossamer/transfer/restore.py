"""Brings a crawl out of the tables of a file into Redis, so that it goes on there.

No host has a state in a ring: those with something to do are parked until their moment, from where
the router fetches them. While the copy is under way nobody can open the crawl: its rules, which
come last, are a placeholder until then.
"""

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from redis.asyncio.client import Pipeline
from redis.typing import EncodableT

from gossamer.errors import CrawlError
from gossamer.frontier import QueueTable
from gossamer.stores.embedded import host_registry
from gossamer.stores.embedded.rows import read_figures
from gossamer.stores.embedded.sqlite.band_table import COMPLETE_NOTE
from gossamer.stores.embedded.worker_registry import WORKERS_NOTE
from gossamer.stores.reasons import REASONS_NOTE
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.alive import AT_WORK, IN_ORDER
from gossamer.stores.redis.counters import pack_counters
from gossamer.stores.redis.crawl_client import CrawlClient, crawl_client
from gossamer.stores.redis.keys import REGISTRY
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.records import (
    CLAIM,
    NOBODY,
    name_of,
    place_in_line,
    write_found,
    write_host,
    write_listing,
    write_page,
    write_samples,
    write_targets,
    write_url,
)
from gossamer.stores.rules import StoreRules
from gossamer.stores.url_record import UrlState
from gossamer.transfer import tables
from gossamer.transfer.copied_crawl import LEASES_OF_A_START

URLS_AT_ONCE = 2000
BODIES_AT_ONCE = 50
BAND_BYTES = 8

_ENDED = {b"yes": IN_ORDER, b"no": AT_WORK}
_SLOWEST = """
SELECT CAST(id AS TEXT), took_s / requests FROM hosts WHERE requests ORDER BY 2 DESC LIMIT ?
"""
_KEPT = """
SELECT pages.id, pages.fetched_at, digest, content, bands, sample, own
FROM pages LEFT JOIN contents ON contents.page = pages.id
LEFT JOIN sketches ON sketches.page = pages.id
WHERE pages.fetched_at > ? ORDER BY pages.id
"""
_PENDING_DEPTH_CHANGES = """
SELECT pages.id, pages.url FROM depth_changes JOIN pages ON pages.id = depth_changes.page
"""
_GIVEN_SCORES = "SELECT CAST(id AS TEXT), given_score FROM urls WHERE given_score IS NOT NULL"
_RELAXING = "SELECT CAST(url AS TEXT), depth, hops, done FROM relaxing"

Fields = dict[EncodableT, EncodableT]


async def restore(
    connection: sqlite3.Connection,
    nodes: Nodes,
    crawl: str,
    rules: StoreRules,
    tell: Callable[[int, int], None],
) -> None:
    """Write the crawl that a connection sees into Redis, where there is none of that name.

    `tell` is told how many URLs are written, and how many there are.
    """
    async with crawl_client(nodes, crawl) as target:
        if not await target.client.set(target.key("rules"), stored.PLACEHOLDER, nx=True):
            raise CrawlError(f"the store has a crawl with the name {crawl} already")
        work = Restoration(connection, target, rules)
        await work.urls(tell)
        await work.listings()
        await work.relaxing()
        await work.hosts()
        await work.pages()
        await work.bodies()
        await work.results()
        await work.counters()
        async with connect(await nodes.find(REGISTRY)) as registrar:
            await registrar.sadd(REGISTRY, crawl)
        await target.client.set(target.key("rules"), stored.write(rules))


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

    def __init__(self, db: sqlite3.Connection, crawl: CrawlClient, rules: StoreRules) -> None:
        self._db = db
        self._client = crawl.client
        self._key = crawl.key
        self._rules = rules
        self._is_revisiting = not math.isinf(rules.revisit_s)
        self._queue_of = QueueTable(rules.scheduler.queues).queue_of
        self._states: Counter[int] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._depths: Counter[str] = Counter()
        self._queues: Counter[int] = Counter()
        self._host_urls: Counter[EncodableT] = Counter()
        self._counts: dict[str, float] = {}

    async def urls(self, tell: Callable[[int, int], None]) -> None:
        """Write URLs, by id and by key, their links and where they wait."""
        (total,) = self._db.execute("SELECT count(*) FROM urls").fetchone()
        done = last = 0
        for some in tables.portions(tables.urls(self._db), URLS_AT_ONCE):
            portion = _Portion()
            for url in some:
                self._take_url(portion, url)
            await self._write(portion)
            done, last = done + len(some), some[-1].id
            tell(done, total)
        if self._host_urls:
            await self._client.hset(self._key("host_urls"), mapping={**self._host_urls})
        self._counts |= {
            "urls": last,
            "line": total,
            "unscored": self._states[UrlState.UNSCORED],
            "queued": self._states[UrlState.QUEUED],
            "too_deep": self._states[UrlState.TOO_DEEP],
        }

    async def listings(self) -> None:
        """Write what sitemaps say of URLs, and how many sitemaps domains have."""
        sitemaps: Counter[EncodableT] = Counter()
        for some in tables.portions(tables.listings(self._db), URLS_AT_ONCE):
            packed: Fields = {url_id: write_listing(listing) for url_id, listing in some}
            await self._client.hset(self._key("listings"), mapping=packed)
            sitemaps.update(one.sitemap_of for _, one in some if one.sitemap_of is not None)
        if sitemaps:
            await self._client.hset(self._key("sitemaps"), mapping={**sitemaps})

    async def relaxing(self) -> None:
        """Write the URLs from which shorter paths are still to be followed."""
        line = {name: place_in_line(*place) for name, *place in self._db.execute(_RELAXING)}
        if line:
            await self._client.zadd(self._key("relaxing"), line)
        self._counts["relaxing"] = len(line)

    def _take_url(self, portion: _Portion, url: tables.TableUrl) -> None:
        record = url.record
        portion.known[url.key] = write_found(record, url.id)
        portion.urls[url.id] = write_url(record)
        if url.links:
            portion.targets[url.id] = write_targets(url.links)
        self._states[record.state] += 1
        self._host_urls[record.host] += 1
        self._depths[f"urls:{record.depth}"] += 1
        if record.page:
            self._depths[f"pages:{record.depth}"] += 1
        match record.state:
            case UrlState.UNSCORED:
                portion.line[str(url.id)] = url.id
            case UrlState.QUEUED:
                portion.queued[record.host][name_of(url.id)] = record.score
                self._queues[self._queue_of(record.score)] += 1
            case UrlState.DONE:
                self._outcomes[url.reason] += 1
                self._depths[f"done:{record.depth}"] += 1

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
            records: Fields = {one.id: write_host(one.record) for one in some}
            names: Fields = {one.record.name: one.id if one.is_met else -one.id for one in some}
            parked = {str(one.id): one.record.next for one in some if one.record.waiting}
            await self._client.hset(self._key("hosts"), mapping=records)
            await self._client.hset(self._key("host_ids"), mapping=names)
            if parked:
                await self._client.zadd(self._key("parked"), parked)
            last, met = some[-1].id, met + sum(one.is_met for one in some)
        if slowest := dict(self._db.execute(_SLOWEST, (host_registry.SLOW_HOSTS,))):
            await self._client.zadd(self._key("slow"), slowest)
        if credit := dict(self._db.execute("SELECT name, credit FROM domains")):
            await self._client.hset(self._key("credits"), mapping=credit)
        self._counts |= {"hosts": last, "met": met, "credit": max(credit.values(), default=0.0)}

    async def pages(self) -> None:
        """Write pages, the last number of one, and which smaller numbers are free."""
        count = last = gaps = 0
        for some in tables.portions(tables.pages(self._db), URLS_AT_ONCE):
            free: dict[str, float] = {}
            for number, _ in some:
                free |= {str(one): one for one in range(last + 1, number)}
                last = number
            count, gaps = count + len(some), gaps + len(free)
            await self._client.hset(self._key("pages"), mapping=dict(some))
            if free:
                await self._client.zadd(self._key("free"), free)
        if pending_depth_changes := dict(self._db.execute(_PENDING_DEPTH_CHANGES)):
            await self._client.hset(self._key("depth_changes"), mapping=pending_depth_changes)
        self._counts |= {"pages": count, "page": last, "free": gaps}

    async def results(self) -> None:
        """Write the log of results, and the scores that came with links."""
        for some in tables.portions(tables.results(self._db), URLS_AT_ONCE):
            await self._client.rpush(self._key("results"), *some)
        if given := dict(self._db.execute(_GIVEN_SCORES)):
            await self._client.hset(self._key("given_scores"), mapping=given)

    async def bodies(self) -> None:
        """Write contents, digests and sketches, each for the rest of its time."""
        seconds, micros = await self._client.time()
        now, keep_s = seconds + micros / 1e6, self._rules.keep_s
        for some in tables.portions(self._db.execute(_KEPT, (now - keep_s,)), BODIES_AT_ONCE):
            async with self._client.pipeline(transaction=False) as pipe:
                for page, fetched_at, digest, content, bands, sample, own in some:
                    left_ms = milliseconds(fetched_at + keep_s - now)
                    self._write_digest(pipe, page, fetched_at, digest)
                    if self._is_revisiting:
                        compared = CLAIM.pack(name_of(page), len(digest)) + digest + (bands or b"")
                        pipe.hset(self._key("compared"), str(page), compared)
                    if content is not None:
                        pipe.set(f"{self._key('content')}{page}", content, px=left_ms)
                    if sample is not None:
                        samples = write_samples(sample, own)
                        pipe.set(f"{self._key('sample')}{page}", samples, px=left_ms)
                        self._write_bands(pipe, page, bands)
                await pipe.execute()

    def _write_digest(self, pipe: Pipeline, page: int, fetched_at: float, digest: bytes) -> None:
        name, entry = self._key("digest").encode() + digest, write_page(fetched_at, page, NOBODY)
        if self._is_revisiting:  # several pages may have the same content
            pipe.append(name, entry)
        else:
            pipe.set(name, entry)
        self._forget_in_time(pipe, name)

    def _write_bands(self, pipe: Pipeline, page: int, bands: bytes) -> None:
        for at in range(0, len(bands), BAND_BYTES):
            position = bytes([(at // BAND_BYTES + 1) % 256])
            name = self._key("band").encode() + position + bands[at : at + BAND_BYTES]
            pipe.append(name, name_of(page))
            self._forget_in_time(pipe, name)

    def _forget_in_time(self, pipe: Pipeline, name: bytes) -> None:
        """Have the server forget what several pages share, when the last of them has expired."""
        longest_ms = milliseconds(self._rules.keep_s + self._rules.scheduler.lease_s)
        if longest_ms is not None:
            pipe.pexpire(name, longest_ms)

    async def counters(self) -> None:
        """Write the counters and the notes; some counters are notes in a file."""
        notes = {name: bytes(value) for name, value in self._db.execute("SELECT * FROM notes")}
        notes.pop("queues", None)
        notes.pop(WORKERS_NOTE, None)
        notes.pop(COMPLETE_NOTE, None)
        notes.pop(REASONS_NOTE, None)
        starts = int(notes.pop("starts", b"0"))
        figures = read_figures(notes.get)
        for name in figures.__struct_fields__:
            notes.pop(name, None)
            self._counts[name] = getattr(figures, name)
        first, last = self._db.execute("SELECT min(at), max(at) FROM attempts").fetchone()
        self._counts |= {
            "started": first or 0.0,
            "last": last or 0.0,
            "closed": _ENDED.get(notes.pop("closed", b""), 0),
            "unsure": max(float(notes.pop("unsure_since", b"-inf")), 0.0),
            # Beyond every lease that was given before.
            "lease": ((starts + 1) << LEASES_OF_A_START) - 1 if starts else 0,
        }
        hashes: dict[str, Mapping[Any, Any]] = {
            "outcomes": self._outcomes,
            "depths": self._depths,
            "queue_counts": self._queues,
            "notes": notes,
        }
        await self._client.set(self._key("counts"), pack_counters(self._counts))
        for name, fields in hashes.items():
            if fields:
                await self._client.hset(self._key(name), mapping=dict(fields))


def milliseconds(seconds: float) -> int | None:
    """Return for how long the server is to keep something; None: for good."""
    return None if math.isinf(seconds) else max(1, math.ceil(seconds * 1000))
