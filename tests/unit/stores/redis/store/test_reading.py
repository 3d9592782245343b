"""What lies in Redis is read back, and what is none of ours does not stop a crawl."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from gossamer.stores.redis.unpack import unpack_host, unpack_page, unpack_url

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

START = 1_000_000.0

FOREIGN = [b"", b"x", b"\x80\x04\x95pickle", b"\x02" + bytes(100), b"\x01" + b"\xff" * 100]


@pytest.mark.parametrize("packed", FOREIGN)
def test_what_is_no_record_is_refused(packed: bytes) -> None:
    for unpack in (unpack_url, unpack_page, unpack_host):
        with pytest.raises(ValueError, match=r"."):
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
        reader = await stage.reader()
        assert await reader.quarantined() == 1
        assert [record.id async for record in reader.records()] == [1, 3]
        await reader.close()
        await store.close()

    asyncio.run(story())


def test_a_foreign_page_record_is_put_aside_and_counted(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1", "a/2")
        for task in await stage.take(store):
            await stage.keep(store, task)
        async with stage.client() as client:
            await client.hset(stage.key("pages"), "1", b"\x80\x04\x95 a pickle, perhaps")
        reader = await stage.reader()
        assert [page.id async for page in reader.pages()] == [2]
        assert [page.id async for page in reader.pages()] == [2]
        assert await reader.quarantined() == 1
        assert (await store.counts()).quarantined == 1
        await reader.close()
        await store.close()

    asyncio.run(story())


def test_many_records_are_read_in_portions(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        names = [f"h{number % 7}/{number}" for number in range(1234)]
        assert await stage.add_seeds(store, *names) == 1234
        reader = await stage.reader()
        records = [record async for record in reader.records()]
        assert [record.url for record in records] == [stage.link(name).url for name in names]
        assert len({record.host for record in records}) == 7
        await reader.close()
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
