"""What is in Redis is read back, and a record that is not ours does not stop a crawl."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar

import pytest

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError
from gossamer.stores.reading import CrawlReader, ReadRequest
from gossamer.stores.redis.reader import RedisReader, open_redis_reader
from gossamer.stores.redis.records import UNREADABLE, read_host
from gossamer.stores.redis.unpack import unpack_page, unpack_url
from gossamer.stores.url_record import UrlState

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

T = TypeVar("T")

START = 1_000_000.0

FOREIGN = [b"", b"x", b"\x80\x04\x95pickle", b"\x01" + bytes(100), b"\x02" + b"\xff" * 100]


def reading(stage: "Stage") -> AbstractAsyncContextManager[RedisReader]:
    address = StoreAddress("redis", url=stage.url)
    return open_redis_reader(ReadRequest(address=address, name=stage.crawl))


@pytest.mark.parametrize("packed", FOREIGN)
def test_what_is_no_record_is_refused(packed: bytes) -> None:
    for unpack in (unpack_url, unpack_page, read_host):
        with pytest.raises(UNREADABLE):
            unpack(packed)


@pytest.mark.parametrize("packed", FOREIGN)
def test_a_foreign_url_record_is_put_aside_and_the_crawl_goes_on(
    stage: "Stage", packed: bytes
) -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1", "a/2", "a/3")
        async with stage.client() as client:
            await client.hset(stage.key("urls"), "2", packed)
        found = await store.candidates(10)
        assert [one.id for one in found] == [1, 3]
        counts = await store.counts()
        assert (counts.waiting, counts.quarantined) == (2, 1)
        assert len(await stage.take(store)) == 2
        async with reading(stage) as reader:
            assert [one.record.id async for one in reader.urls()] == [1, 3]
        await store.close()

    asyncio.run(story())


async def until_error(items: AsyncIterator[T]) -> tuple[list[T], str]:
    """Return what a list yields, and what it complains of in the end."""
    found: list[T] = []
    try:
        async for one in items:
            found.append(one)
    except CrawlError as error:
        return found, str(error)
    return found, ""


def test_a_list_goes_on_past_foreign_records_and_says_so_in_the_end(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1", "a/2", "a/3")
        for task in await stage.take(store):
            await stage.keep(store, task)
        async with stage.client() as client, reading(stage) as reader:
            await client.hset(stage.key("pages"), "1", b"\x80\x04\x95 a pickle, perhaps")
            pages, complaint = await until_error(reader.pages())
            assert [page.id for page in pages] == [2, 3]
            assert "is damaged: 1 record cannot be read (pages 1, " in complaint
            await client.hset(stage.key("urls"), "3", b"another")
            urls, complaint = await until_error(reader.urls())
            assert [one.record.id for one in urls] == [1, 2]
            assert "is damaged: 2 records cannot be read (urls 3, " in complaint
            assert complaint.endswith("run 'gossamer verify' for everything that is wrong")
            with pytest.raises(CrawlError, match="1 record cannot be read"):
                await reader.page(1)
            with pytest.raises(CrawlError, match="1 record cannot be read"):
                await reader.url(stage.link("a/3").key)
            assert await client.hget(stage.key("urls"), "3") == b"another", "nothing is changed"
        await store.close()

    asyncio.run(story())


def test_counters_that_make_no_sense_are_damage(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        async with stage.client() as client:
            await client.set(stage.key("counts"), b"many")
            async with reading(stage) as reader:
                with pytest.raises(CrawlError, match="its counters cannot be read"):
                    await reader.counts()
            await client.delete(stage.key("counts"))
        await store.close()

    asyncio.run(story())


def test_many_records_are_read_in_batches(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        names = [f"h{number % 7}/{number}" for number in range(1234)]
        assert await stage.add_seeds(store, *names) == 1234
        async with reading(stage) as reader:
            records = [one.record async for one in reader.urls()]
        assert [record.url for record in records] == [stage.link(name).url for name in names]
        assert len({record.host for record in records}) == 7
        await store.close()

    asyncio.run(story())


async def ahead(reader: CrawlReader, stage: "Stage", name: str) -> tuple[UrlState, int]:
    url = await reader.url(stage.link(name).key)
    assert url is not None
    return url.state, await reader.ahead_of(url)


def test_how_many_urls_come_before_another(stage: "Stage") -> None:
    """The names say the score, and with it the order."""
    scores = [10, 11, 50, 52, 54, 58, 90]

    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, *(f"a/{score}" for score in scores), "b/50")
        await store.join(0, START)
        found = await store.candidates(100)
        await store.prioritise([(one, float(one.url.rpartition("/")[2])) for one in found])
        await stage.add_seeds(store, "a/new-1", "a/new-2")
        async with reading(stage) as reader:
            assert await ahead(reader, stage, "a/new-1") == (UrlState.UNSCORED, 0)
            assert await ahead(reader, stage, "a/new-2") == (UrlState.UNSCORED, 1)
            assert await ahead(reader, stage, "a/50") == (UrlState.QUEUED, 0)
            assert await ahead(reader, stage, "a/58") == (UrlState.QUEUED, 3)
            assert await ahead(reader, stage, "a/90") == (UrlState.QUEUED, 0)
            await store.route([[1], [1], [5], [5]], START)
            states = {one.record.url: one.record.state async for one in reader.urls()}
            assigned = [url for url, state in states.items() if state is UrlState.ASSIGNED]
            assert {"http://a.test/10", "http://a.test/11"} <= set(assigned)
            mine = [url for url in assigned if url.startswith("http://a.")]
            assert await ahead(reader, stage, "a/10") == (UrlState.ASSIGNED, 0)
            assert await ahead(reader, stage, "a/11") == (UrlState.ASSIGNED, 1)
            assert await ahead(reader, stage, "a/90") == (UrlState.QUEUED, len(mine))
            (task,) = (await store.lease(0, 1, START)).tasks
            assert task.url == "http://a.test/10"
            assert await ahead(reader, stage, "a/11") == (UrlState.ASSIGNED, 1)
            assert await ahead(reader, stage, "a/90") == (UrlState.QUEUED, len(mine))
            counts = await reader.counts()
            assert counts.states[UrlState.LEASED] == 1
            (busiest, other) = await reader.hosts(5, START)
            assert (busiest.host, busiest.in_progress, other.waiting) == ("a.test", 1, 1)
            assert busiest.waiting == len(scores) - 1
            assert [one.host for one in await reader.hosts(1, START)] == ["a.test"]
        await store.let_go()

    asyncio.run(story())


def test_when_a_host_may_be_asked_again(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1")
        async with stage.client() as client:
            seconds, _ = await client.time()
        for task in await stage.take(store, seconds):
            await stage.keep(store, task, now=seconds + 100.0)
        async with reading(stage) as reader:
            timing = await reader.timing(stage.link("a/1").host, 0.0)
            assert timing is not None
            assert (timing.delay_s, timing.failures) == (0.0, 0)
            assert 90.0 < timing.ready_in_s <= 100.0
            assert await reader.timing(stage.link("b/1").host, 0.0) is None
        await store.close()

    asyncio.run(story())


def test_a_page_with_thousands_of_links_is_settled(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/")
        (task,) = await stage.take(store)
        links = [f"h{number % 700}/{number}" for number in range(9000)]
        settled = await stage.keep(store, task, links)
        assert len(settled.new_links) == 9000
        assert (await store.snapshot(START)).waiting == 9000
        await store.close()

    asyncio.run(story())
