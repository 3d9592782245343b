"""Whatever is changed in one part of a divided crawl behind the others' back, `verify` finds it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis

from gossamer.control.shared_view import open_shared_crawl
from gossamer.control.stored_crawl import View
from gossamer.control.verify import Verification, verify
from gossamer.stores.redis.keys import CENTRE, key
from gossamer.stores.redis.partitions import partition_of
from gossamer.stores.redis.records import read_host, write_host

if TYPE_CHECKING:
    from tests.carrier.conftest import Lab

Tampering = Callable[[Redis, str], Awaitable[None]]

PARTITIONS = 3


async def busiest(client: Redis, crawl: str, name: str) -> int:
    """Return the partition that has most of something in a hash."""
    sizes = [await client.hlen(key(crawl, name, part)) for part in range(PARTITIONS)]
    return sizes.index(max(sizes))


async def drop_a_page(client: Redis, crawl: str) -> None:
    part = await busiest(client, crawl, "pages")
    number: Any = (await client.hkeys(key(crawl, "pages", part)))[0]
    await client.hdel(key(crawl, "pages", part), number)


async def drop_a_url(client: Redis, crawl: str) -> None:
    part = await busiest(client, crawl, "urls")
    await client.hdel(key(crawl, "urls", part), str(3 * PARTITIONS + part))


async def drop_links_abroad(client: Redis, crawl: str) -> None:
    for part in range(PARTITIONS):
        await client.delete(key(crawl, "abroad", part))


async def forget_the_target_of_a_link(client: Redis, crawl: str) -> None:
    await client.delete(key(crawl, "known", await busiest(client, crawl, "known")))


async def move_a_host_to_another_partition(client: Redis, crawl: str) -> None:
    part = await busiest(client, crawl, "hosts")
    packed: Any = await client.hget(key(crawl, "hosts", part), "1")
    host = read_host(packed)
    other = (part + 1) % PARTITIONS
    number = int(await client.hget(key(crawl, "counts", other), "hosts") or 0)
    assert partition_of(host.domain, PARTITIONS) == part
    await client.hincrby(key(crawl, "counts", other), "hosts", 1)
    await client.hset(key(crawl, "hosts", other), str(number + 1), write_host(host))


async def know_a_url_in_two_partitions(client: Redis, crawl: str) -> None:
    """Copy a whole URL, with its host and its key, and count it."""
    part = await busiest(client, crawl, "urls")
    await move_a_host_to_another_partition(client, crawl)
    other = (part + 1) % PARTITIONS
    record: Any = await client.hget(key(crawl, "urls", part), str(PARTITIONS + part))
    found: Any = await client.hgetall(key(crawl, "known", part))
    name = next(name for name, url_id in found.items() if int(url_id) == PARTITIONS + part)
    number = await client.hincrby(key(crawl, "counts", other), "urls", 1)
    url_id = str(number * PARTITIONS + other)
    await client.hset(key(crawl, "urls", other), url_id, record)
    await client.hset(key(crawl, "known", other), name, url_id)


async def miscount_in_two_partitions(client: Redis, crawl: str) -> None:
    await client.hincrby(key(crawl, "counts", 0), "urls", 1)
    await client.hincrby(key(crawl, "counts", 1), "urls", -1)


async def miscount_numbers(client: Redis, crawl: str) -> None:
    await client.hincrby(key(crawl, "counts", CENTRE), "page", 1)


async def report_too_many_pages(client: Redis, crawl: str) -> None:
    await client.hincrby(key(crawl, "budget", CENTRE), "pages:1", 1000)
    await client.hincrby(key(crawl, "counts", CENTRE), "pages", 1000)


async def grant_nothing(client: Redis, crawl: str) -> None:
    part = await busiest(client, crawl, "pages")
    await client.hset(key(crawl, "budget", CENTRE), f"granted:{part}", "0")


async def free_a_number(client: Redis, crawl: str) -> None:
    await client.zadd(key(crawl, "free", CENTRE), {"5": 5})


async def give_a_page_to_another(client: Redis, crawl: str) -> None:
    other: Any = await client.hget(key(crawl, "pages", CENTRE), "4")
    await client.hset(key(crawl, "pages", CENTRE), "5", other)


async def leave_a_message(client: Redis, crawl: str) -> None:
    late = time.time() * 1e6
    await client.zadd(f"{key(crawl, 'outbox', 1)}2", {b"a letter": late})


async def leave_a_claim(client: Redis, crawl: str) -> None:
    await client.zadd(key(crawl, "claimants", CENTRE), {str(PARTITIONS): 1})


async def claim_for_nobody(client: Redis, crawl: str) -> None:
    await client.zadd(key(crawl, "claimants", CENTRE), {"999999": 1})


def look(lab: "Lab", crawl: str) -> Verification:
    with open_shared_crawl(lab.url, crawl, View(links=True, audit=True)) as shared:
        return verify(shared, time.time())


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The crawl that all damages are done to; each is undone."""
    return {}


@pytest.mark.req("D13", "D14")
@pytest.mark.parametrize(
    ("tamper", "rule"),
    [
        (drop_a_page, "numbers"),
        (drop_a_url, "store"),
        (drop_links_abroad, "path"),
        (forget_the_target_of_a_link, "partitions"),
        (know_a_url_in_two_partitions, "partitions"),
        (miscount_in_two_partitions, "store"),
        (miscount_numbers, "partitions"),
        (report_too_many_pages, "partitions"),
        (grant_nothing, "partitions"),
        (free_a_number, "partitions"),
        (give_a_page_to_another, "partitions"),
        (leave_a_message, "partitions"),
        (leave_a_claim, "partitions"),
        (claim_for_nobody, "partitions"),
    ],
    ids=lambda one: one.__name__ if callable(one) else one,
)
def test_it_is_found(
    lab: "Lab", crawl: str, made: dict[str, str], tamper: Tampering, rule: str
) -> None:
    if not made:
        assert asyncio.run(lab.crawl(crawl, partitions=PARTITIONS)) == "complete"
        assert look(lab, crawl).sound
        made["crawl"] = crawl
    asyncio.run(damage(lab, made["crawl"], tamper))
    found = look(lab, made["crawl"])
    asyncio.run(undo(lab, made))
    assert not found.sound
    assert rule in {one.rule for one in found.findings if one.broken}


async def damage(lab: "Lab", crawl: str, tamper: Tampering) -> None:
    """Keep a copy of every key, then do it."""
    async with lab.client() as client:
        async for name in client.scan_iter(match=f"gossamer:{{{crawl}:*", count=1000):
            await client.copy(name, b"kept:" + name, replace=True)
        await tamper(client, crawl)


async def undo(lab: "Lab", made: dict[str, str]) -> None:
    """Put everything back as it was."""
    async with lab.client() as client:
        start = f"gossamer:{{{made['crawl']}:"
        async for name in client.scan_iter(match=f"{start}*", count=1000):
            await client.unlink(name)
        async for name in client.scan_iter(match=f"kept:{start}*", count=1000):
            await client.rename(name, name.removeprefix(b"kept:"))
