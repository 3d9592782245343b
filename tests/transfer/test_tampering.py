"""Whatever is changed behind the crawl's back in Redis, `verify` finds it."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis
from tests.unit.views.reading import broken, in_redis

from gossamer.stores.redis.counters import pack_counters, read_counters
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.records import name_of, read_url, write_url

if TYPE_CHECKING:
    from tests.transfer.conftest import CrawlLab

Tampering = Callable[[Redis, str], Awaitable[None]]


async def queued(client: Redis, crawl: str) -> tuple[int, int]:
    """Return a URL in a priority queue, and its host."""
    found: Any = await client.hgetall(key(crawl, "urls"))
    for name, packed in found.items():
        row = read_url(packed)
        if row.state in {1, 2}:
            return int(name), row.host
    raise AssertionError("nothing waits")


async def drop_the_last_url(client: Redis, crawl: str) -> None:
    counts = await read_counters(CrawlClient(client, crawl))
    await client.hdel(key(crawl, "urls"), str(int(counts["urls"])))


async def drop_a_url(client: Redis, crawl: str) -> None:
    await client.hdel(key(crawl, "urls"), "7")


async def spoil_a_record(client: Redis, crawl: str) -> None:
    await client.hset(key(crawl, "urls"), "7", b"\x01nonsense")


async def change_a_depth(client: Redis, crawl: str) -> None:
    packed: Any = await client.hget(key(crawl, "urls"), "9")
    await client.hset(key(crawl, "urls"), "9", write_url(read_url(packed)._replace(depth=7)))


async def change_a_key(client: Redis, crawl: str) -> None:
    found: Any = await client.hgetall(key(crawl, "known"))
    name, url_id = next(iter(found.items()))
    await client.hdel(key(crawl, "known"), name)
    await client.hset(key(crawl, "known"), bytes(16), url_id)


async def drop_a_page(client: Redis, crawl: str) -> None:
    await client.hdel(key(crawl, "pages"), "3")


async def drop_a_result(client: Redis, crawl: str) -> None:
    await client.rpop(key(crawl, "results"))


async def drop_a_body(client: Redis, crawl: str) -> None:
    await client.delete(f"{key(crawl, 'content')}3")


async def change_a_body(client: Redis, crawl: str) -> None:
    other: Any = await client.get(f"{key(crawl, 'content')}4")
    await client.set(f"{key(crawl, 'content')}3", other)


async def drop_links(client: Redis, crawl: str) -> None:
    await client.hdel(key(crawl, "targets"), "1")


async def queue_twice(client: Redis, crawl: str) -> None:
    url_id, host = await queued(client, crawl)
    await client.zadd(f"{key(crawl, 'queued')}{host}", {name_of(url_id): 50.0})
    await client.zadd(f"{key(crawl, 'assigned')}{host}", {name_of(url_id): 50.0})


async def queue_the_finished(client: Redis, crawl: str) -> None:
    await client.zadd(f"{key(crawl, 'queued')}1", {name_of(1): 50.0})


async def queue_nowhere(client: Redis, crawl: str) -> None:
    url_id, host = await queued(client, crawl)
    await client.zrem(f"{key(crawl, 'queued')}{host}", name_of(url_id))
    await client.zrem(f"{key(crawl, 'assigned')}{host}", name_of(url_id))


async def queue_elsewhere(client: Redis, crawl: str) -> None:
    url_id, host = await queued(client, crawl)
    await queue_nowhere(client, crawl)
    await client.zadd(f"{key(crawl, 'queued')}{host % 8 + 1}", {name_of(url_id): 50.0})


async def queue_unscored(client: Redis, crawl: str) -> None:
    await client.zadd(key(crawl, "url_queue"), {"1": 1})


async def lease_the_finished(client: Redis, crawl: str) -> None:
    await client.hset(key(crawl, "leases"), "1", struct.pack(">6s6sI", bytes(6), bytes(6), 1))


async def _miscount(client: Redis, crawl: str, **by: int) -> None:
    counts = await read_counters(CrawlClient(client, crawl))
    wrong = {name: count + by.get(name, 0) for name, count in counts.items()}
    await client.set(key(crawl, "counts"), pack_counters(wrong))


async def miscount_pages(client: Redis, crawl: str) -> None:
    await _miscount(client, crawl, pages=-1)


async def miscount_bytes(client: Redis, crawl: str) -> None:
    await _miscount(client, crawl, bytes=17)


async def miscount_outcomes(client: Redis, crawl: str) -> None:
    await client.hincrby(key(crawl, "outcomes"), "fetched", 1)


async def spoil_a_host(client: Redis, crawl: str) -> None:
    await client.hdel(key(crawl, "hosts"), "2")


@pytest.mark.req("D13", "D14")
@pytest.mark.parametrize(
    ("tamper", "rule"),
    [
        (drop_the_last_url, "store"),
        (drop_a_url, "ids"),
        (spoil_a_record, "ids"),
        (change_a_depth, "depth"),
        (change_a_key, "filing"),
        (drop_a_page, "fetched"),
        (drop_a_result, "results"),
        (drop_a_body, "contents"),
        (change_a_body, "bodies"),
        (drop_links, "path"),
        (queue_twice, "store"),
        (queue_the_finished, "store"),
        (queue_nowhere, "store"),
        (queue_elsewhere, "store"),
        (queue_unscored, "store"),
        (lease_the_finished, "store"),
        (miscount_pages, "store"),
        (miscount_bytes, "bytes"),
        (miscount_outcomes, "store"),
        (spoil_a_host, "host"),
    ],
    ids=lambda one: one.__name__ if callable(one) else one,
)
def test_it_is_found(lab: "CrawlLab", crawl: str, tamper: Tampering, rule: str) -> None:
    async def prepare() -> None:
        await lab.crawl(crawl, 40)
        async with lab.client() as client:
            await tamper(client, crawl)

    asyncio.run(prepare())
    assert rule in broken(in_redis(lab.url, crawl))
