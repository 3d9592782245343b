"""Reading the rows of a crawl in Redis, whatever becomes of its server and of its keys."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.unit.stores.redis.row_stage import CRAWL, PREFIX, RowStage

from gossamer.config import StoreAddress
from gossamer.model.errors import CrawlError
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.reader import CrawlReader
from gossamer.stores.redis.rows import open_redis_reader


class AwayHandler(logging.Handler):
    """Waits until it is told that the store is away."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "trying again" in record.getMessage():
            self._loop.call_soon_threadsafe(self.event.set)


@asynccontextmanager
async def reading(stage: RowStage, url: str = "") -> AsyncIterator[CrawlReader]:
    address = StoreAddress("redis", url=url or stage.proxy.url)
    async with open_redis_reader(ReadRequest(address=address, name=CRAWL)) as reader:
        yield reader


async def listed(reader: CrawlReader) -> list[int]:
    return [url.record.id async for url in reader.urls()]


def test_it_connects_again_when_it_was_cut_off(stage: RowStage) -> None:
    async def story() -> None:
        async with reading(stage) as reader:
            assert await listed(reader) == [1, 2, 3]
            await asyncio.to_thread(stage.proxy.cut)
            assert await listed(reader) == [1, 2, 3]

    stage.begin()
    asyncio.run(story())


def test_whoever_waits_for_a_server_that_is_away_may_give_up(stage: RowStage) -> None:
    async def story() -> None:
        logger, told = logging.getLogger("gossamer.store"), AwayHandler()
        logger.addHandler(told)
        async with reading(stage) as reader:
            stage.proxy.close()
            asking = asyncio.create_task(listed(reader))
            await told.event.wait()  # the loop goes on meanwhile
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        logger.removeHandler(told)

    stage.begin()
    asyncio.run(asyncio.wait_for(story(), 20))


def test_it_takes_no_lead_and_writes_nothing(stage: RowStage) -> None:
    async def story() -> None:
        async with reading(stage) as reader:
            await reader.counts()
            await listed(reader)
            await reader.hosts(5, 0.0)

    rows = stage.begin()
    rows.lead.resign()
    before = stage.dump()
    asyncio.run(story())
    assert stage.dump() == before
    assert rows.holder() is None


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [("urls", 2, b"?"), ("urls", 2, b"\x90"), ("hosts", 1, b"\xc1")],
)
def test_a_row_that_makes_no_sense_is_told(
    stage: RowStage, key: str, field: int, value: bytes
) -> None:
    async def story() -> None:
        async with reading(stage) as reader:
            await listed(reader)

    stage.begin()
    stage.client.hset(PREFIX + key, str(field), value)
    with pytest.raises(CrawlError, match=r"is damaged: .* run 'gossamer verify'"):
        asyncio.run(story())


def test_a_row_that_is_missing_is_told(stage: RowStage) -> None:
    async def story() -> None:
        async with reading(stage) as reader:
            await listed(reader)

    stage.begin()
    stage.client.hdel(PREFIX + "urls", "2")
    with pytest.raises(CrawlError, match="has lost a row"):
        asyncio.run(story())


def test_a_crawl_of_an_older_version_is_refused(stage: RowStage) -> None:
    async def story() -> None:
        async with reading(stage):
            raise AssertionError("it is in another format")

    stage.client.set("gossamer:{c}:rules", b"old")
    with pytest.raises(CrawlError, match="older version"):
        asyncio.run(story())


def test_a_server_that_does_not_answer_is_told_at_once(stage: RowStage) -> None:
    async def story() -> None:
        async with reading(stage, url):
            raise AssertionError("nobody is there")

    stage.begin()
    url = stage.proxy.url
    stage.proxy.close()
    with pytest.raises(CrawlError, match="store"):
        asyncio.run(asyncio.wait_for(story(), 20))
