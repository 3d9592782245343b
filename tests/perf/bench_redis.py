"""What a page costs the Redis that keeps the crawl: server time for each step, bytes for each URL.

Run as a script, beside a Redis that nobody else uses:

    redis-server --port 7777 --save '' &
    python tests/perf/bench_redis.py redis://127.0.0.1:7777

A synthetic crawl: every page has 32 links, two of them new, most of them to its own host.
"""

import asyncio
import hashlib
import random
import sys
import time
from collections import defaultdict
from statistics import median

from redis.asyncio import Redis

from gossamer.frontier import DeskRules
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores import StoreRules
from gossamer.stores.contract import KeptPage, Link, Pace, Settlement, Task
from gossamer.stores.redis import Opening, RedisStore, open_redis
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.client import connect
from gossamer.stores.redis.open import delete_crawl
from gossamer.stores.redis.scripts import script

CRAWL, PAGES, HOSTS, AT_ONCE = "bench", 3000, 50, 64
LINKS, NEW, ELSEWHERE = 32, 2, 4
STEPS = ("candidates", "prioritise", "route", "lease", "claim", "settle")
RULES = StoreRules(
    desk=DeskRules(delay_s=0.0, host_connections=AT_ONCE),
    max_pages=10**9,
    max_bytes=10**15,
    similarity=None,
)


def link(number: int) -> Link:
    domain = f"example{number % HOSTS}.test"
    url = f"https://www.{domain}/section/{number % 97}/article-with-a-title-{number}.html"
    key = hashlib.blake2b(url.encode(), digest_size=16).digest()
    return Link(Url(url), key, HostKey(f"www.{domain}"), domain)


class Crawl:
    """One process that crawls a web which grows with every page."""

    def __init__(self, store: RedisStore) -> None:
        self.store = store
        self.known = 10
        self.done = 0
        self._random = random.Random(1)  # noqa: S311 -- repeatable

    async def run(self) -> None:
        store = self.store
        await store.join(0, time.time())
        await store.plant([link(number) for number in range(self.known)], time.time())
        while self.done < PAGES:
            found = await store.candidates(500)
            await store.prioritise([(one, self._random.random() * 100) for one in found])
            await store.route([range(10)] * 16, time.time())
            leased = await store.lease(0, AT_ONCE, time.time())
            await asyncio.gather(*[self._visit(task) for task in leased.tasks])

    async def _visit(self, task: Task) -> None:
        digest = hashlib.blake2b(task.url.encode(), digest_size=16).digest()
        claim = await self.store.claim(task, digest, None, time.time())
        assert claim.page_id is not None
        now = time.time()
        page = KeptPage(page_id=claim.page_id, size=100, digest=digest, content=b"", fetched_at=now)
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            page=page,
            links=self._links(task),
            size=100,
            pace=Pace(ended=now, took_s=0.01),
        )
        assert (await self.store.settle(settlement, now)).accepted
        self.done += 1

    def _links(self, task: Task) -> list[Link]:
        draw, own = self._random.randrange, task.url_id % HOSTS
        new = range(self.known, self.known + NEW)
        self.known += NEW
        elsewhere = [draw(self.known) for _ in range(ELSEWHERE)]
        near = [draw(1 + self.known // HOSTS) * HOSTS + own for _ in range(LINKS - NEW - ELSEWHERE)]
        return [link(number % self.known) for number in (*new, *elsewhere, *near)]


async def step_times(client: Redis) -> dict[str, list[int]]:
    """Return the durations of the last calls of each step, in µs of the server."""
    names = {script(step).sha.decode(): step for step in STEPS}
    times: dict[str, list[int]] = defaultdict(list)
    for entry in await client.slowlog_get(100_000):
        words = entry["command"].split(b" ")
        if words[0] == b"EVALSHA" and (step := names.get(words[1].decode())):
            times[step].append(entry["duration"])
    return times


async def used_bytes(client: Redis) -> int:
    return int((await client.info("memory"))["used_memory_dataset"])


async def measure(url: str) -> None:
    address = parse_address(url)
    await delete_crawl(address, CRAWL)
    async with connect(address) as client:
        await client.config_set("slowlog-log-slower-than", -1)
        await client.slowlog_reset()
        empty = await used_bytes(client)
        store = await open_redis(url, CRAWL, RULES, Opening(is_checked=True))
        crawl = Crawl(store)
        await client.config_set("slowlog-max-len", 2000)
        await client.config_set("slowlog-log-slower-than", 0)
        before, started = store.courier.round_trips, time.perf_counter()
        await crawl.run()
        took_s = time.perf_counter() - started
        await client.config_set("slowlog-log-slower-than", -1)
        times = await step_times(client)
        await client.slowlog_reset()
        kept = await used_bytes(client) - empty
        trips = (store.courier.round_trips - before) / crawl.done
        await store.close()
    print(
        f"{crawl.done} pages of {LINKS} links in {took_s:.1f} s: {crawl.done / took_s:,.0f} pages/s"
    )
    print(f"{trips:.2f} round trips for a page, {kept / crawl.known:,.0f} bytes for a known URL")
    for step in STEPS:
        print(f"  {step:<12}{median(times[step]):>8,.0f} µs of server time (median)")
    await delete_crawl(address, CRAWL)


if __name__ == "__main__":
    asyncio.run(measure(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6379"))
