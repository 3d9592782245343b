"""How long one step holds the event loop, or the server, while a long chain of pages comes nearer.

Run by hand: `PYTHONPATH=.:tools python tests/perf/relax_chain.py [pages]`. A chain of a million
pages, each of which links to the next, is written into a file and into a Redis of its own; then its
second page becomes a seed, and so everything behind it comes one step nearer. The longest step is
in CPU time of the process for a file, for a machine that others use as well, and the server's own
figure, which is not, for Redis.
"""

import asyncio
import sqlite3
import sys
import time
from array import array
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from gossamer.stores.redis.alive import IN_ORDER
from gossamer.stores.redis.counters import pack_counters
from gossamer.stores.redis.records import (
    FOUND,
    PAGE,
    HostRow,
    UrlRow,
    name_of,
    write_host,
    write_targets,
    write_url,
)
from redis.asyncio import Redis
from tests.perf.own_redis import own_redis

from gossamer.coordinator.engine import COMMIT_EVERY_S
from gossamer.model import HostKey, Url
from gossamer.stores import EmbeddedStore, Link, Store, StoreRules
from gossamer.stores.embedded.sqlite import SqliteRows
from gossamer.stores.redis import Opening, open_redis
from gossamer.stores.redis.row_keys import key as redis_key
from gossamer.stores.url_record import UrlState

CRAWL, HOST = "chain", "chain.test"
RULES = StoreRules(max_pages=10**9, max_bytes=10**15, similarity=None)
NOW = 1_000_000.0
WRITTEN_AT_ONCE = 2000
_FETCHED = (NOW, "fetched", "", "", 200)


def key(number: int) -> bytes:
    return number.to_bytes(16)


def url(number: int) -> Url:
    return Url(f"http://{HOST}/{number}")


def write_chain(path: Path, pages: int) -> None:
    """Write a finished crawl of a chain, numbered from 1."""
    SqliteRows(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO hosts (id, key, domain, delay_s, next_start, failures, urls) "
            "VALUES (1, ?, ?, 0, 0, 0, ?)",
            (HOST, HOST, pages),
        )
        db.executemany(
            "INSERT INTO urls (id, url, key, host, state, depth, parent, hops, found_at, score, "
            "queue, outcome, page, finished_at, attempts, targets) "
            "VALUES (?, ?, ?, 1, 4, ?, ?, 0, ?, 0.0, 0, 'fetched', ?, ?, 1, ?)",
            _rows(pages),
        )
        db.execute("INSERT INTO attempts SELECT id, finished_at, outcome, NULL, '', 200 FROM urls")
        db.execute(
            "INSERT INTO pages SELECT id, id, 0, key, '', '', '', finished_at, depth FROM urls"
        )


def _rows(pages: int) -> Iterator[tuple[object, ...]]:
    for number in range(1, pages + 1):
        targets = array("q", [number + 1] if number < pages else []).tobytes()
        parent = number - 1 or None
        yield number, url(number), key(number), number - 1, parent, NOW, number, NOW, targets


async def shorten(store: Store, timed: Callable[[Awaitable[object]], Awaitable[object]]) -> int:
    """Bring the chain nearer, as a frontier does; return how many steps that took."""
    link = Link(url(2), key(2), HostKey(HOST), HOST)
    await timed(store.add_seeds([link], NOW))
    steps, commit_at = 1, time.monotonic()
    while (await store.snapshot(NOW)).relaxing:
        await timed(store.route([[0]] * 8, NOW))
        steps += 1
        if time.monotonic() >= commit_at:
            await store.commit()
            commit_at = time.monotonic() + COMMIT_EVERY_S
    return steps


async def in_file(path: Path) -> None:
    """Measure the embedded store."""
    store = EmbeddedStore(SqliteRows(path), RULES, NOW)
    took: list[float] = []

    async def timed(step: Awaitable[object]) -> object:
        before = time.thread_time()
        answer = await step
        took.append(time.thread_time() - before)
        return answer

    await store.join(0, NOW)
    before = time.perf_counter()
    steps = await shorten(store, timed)
    _tell("file", steps, time.perf_counter() - before, sorted(took))
    await store.close()


async def write_chain_to_redis(client: Redis, pages: int) -> None:
    """Write the same into the Redis: what a step that follows links reads and changes."""
    async with client.pipeline(transaction=False) as pipe:
        for number in range(1, pages + 1):
            # A URL that is done and was fetched, of the first host.
            path = (UrlState.DONE, 0, number - 1, NOW, 1, number - 1, 0, 0)
            record = UrlRow(*path, 0.0, number, 0, 0, 0, NOW, url(number), [_FETCHED])
            found, page = (
                FOUND.pack(name_of(number), number - 1, 0),
                PAGE.pack(NOW, name_of(number)),
            )
            pipe.hset(redis_key(CRAWL, "known"), key(number), found)
            pipe.hset(redis_key(CRAWL, "urls"), str(number), write_url(record))
            pipe.hset(redis_key(CRAWL, "pages"), str(number), page)
            if number < pages:
                pipe.hset(redis_key(CRAWL, "targets"), str(number), write_targets([number + 1]))
            for name in ("urls", "done", "pages"):
                pipe.hset(redis_key(CRAWL, "depths"), f"{name}:{number - 1}", 1)
            if number % WRITTEN_AT_ONCE == 0:
                await pipe.execute()
        host = HostRow(name=HOST, domain=HOST, next=0.0, failures=0, unanswered=0)
        pipe.hset(redis_key(CRAWL, "hosts"), "1", write_host(host))
        pipe.hset(redis_key(CRAWL, "host_ids"), HOST, "1")
        pipe.hset(redis_key(CRAWL, "host_urls"), "1", str(pages))
        known = {"urls": pages, "line": pages, "pages": pages, "page": pages, "visits": pages}
        counts = {**known, "hosts": 1, "met": 1, "started": NOW, "last": NOW, "closed": IN_ORDER}
        pipe.set(redis_key(CRAWL, "counts"), pack_counters(counts))
        await pipe.execute()


async def in_redis(pages: int, redis_url: str) -> None:
    """Measure the Redis store, by the server's own log of slow commands."""
    await (await open_redis(redis_url, CRAWL, RULES, Opening(is_checked=True))).let_go()
    async with Redis.from_url(redis_url, socket_timeout=None) as client:
        await write_chain_to_redis(client, pages)
        await client.config_set("slowlog-log-slower-than", 2000)
        await client.config_set("slowlog-max-len", 20_000)
        store = await open_redis(redis_url, CRAWL, RULES, Opening(is_checked=True))

        async def untimed(step: Awaitable[object]) -> object:
            return await step

        await client.slowlog_reset()
        before, cpu_before = time.perf_counter(), await _cpu(client)
        steps = await shorten(store, untimed)
        total, cpu = time.perf_counter() - before, await _cpu(client) - cpu_before
        slow = await client.slowlog_get(20_000)
        took = [one["duration"] / 1e6 for one in slow if b"FCALL" in one["command"][:5]]
        _tell("Redis", steps, total, sorted(took))
        print(f"  {1000 * cpu / steps:.1f} ms of CPU a step")
        await store.let_go()


async def _cpu(client: Redis) -> float:
    found = await client.info("cpu")
    return float(found["used_cpu_user_main_thread"] + found["used_cpu_sys_main_thread"])


def _tell(where: str, steps: int, total: float, took: list[float]) -> None:
    print(
        f"{where}: {steps} steps in {total:.1f} s; the longest {1000 * took[-1]:.1f} ms, "
        f"99.9 % under {1000 * took[int(len(took) * 0.999)]:.1f} ms, half under "
        f"{1000 * took[len(took) // 2]:.1f} ms",
        flush=True,
    )


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.sqlite"
        write_chain(path, pages)
        with own_redis("appendonly yes", "appendfsync everysec") as redis_url:
            asyncio.run(in_redis(pages, redis_url))
        asyncio.run(in_file(path))


if __name__ == "__main__":
    main()
