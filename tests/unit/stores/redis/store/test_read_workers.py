"""A reader sees the workers of a crawl in Redis."""

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import CrawlError
from gossamer.stores.figures import WorkerReport
from gossamer.stores.redis import Opening

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

REPORT = WorkerReport(pid=4711, machine="here", memory=80_000_000, busy=0.5)


def test_they_are_seen_with_what_they_have_to_do(stage: "Stage") -> None:
    async def story() -> None:
        now = time.time()
        store = await stage.open(Opening(now=now))
        async with stage.reading() as reader:
            assert await reader.workers(now) == []
            await store.join(11, now, REPORT)
            await store.join(2, now)
            await stage.add_seeds(store, "a/1", "a/2", "b/1", now=now)
            assert len(await stage.take(store, now, 2)) == 3
            first, second = await reader.workers(now)
            assert (first.number, first.hosts, first.in_progress) == (2, 2, 3)
            assert first.report is None
            assert (second.number, second.hosts, second.in_progress) == (11, 0, 0)
            assert second.report == REPORT
            assert 0 <= second.silent_s < 30
            seen = await store.workers(now)
            assert [one.number for one in seen] == [2, 11]
            assert seen[1].report == REPORT
            await store.dismiss(11, [], now)
            assert [one.number for one in await reader.workers(now)] == [2]
            await store.close()
            assert await reader.workers(now) == [], "it has ended in order"

    asyncio.run(story())


def test_who_was_silent_for_a_lease_does_not_take_part(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()  # by a clock that is long past
        await store.join(0, 1_000_000.0, REPORT)
        async with stage.reading() as reader:
            assert await reader.workers(0.0) == []
        await store.close()

    asyncio.run(story())


def test_a_report_that_is_not_ours_is_told(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        async with stage.client() as client:
            await client.hset(stage.key("reports"), "0", b"?")
        async with stage.reading() as reader:
            with pytest.raises(CrawlError, match="workers"):
                await reader.workers(0.0)
        await store.close()

    asyncio.run(story())
