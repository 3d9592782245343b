"""The server's clock counts; what callers say and hear is in theirs."""

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.frontier import SchedulerRules
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.redis import Opening

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

BY_SERVER = Opening()
WRONG = 5_000.0
"""What the clock of a caller says, shortly after 1970."""


@pytest.mark.req("B3")
def test_a_caller_with_a_wrong_clock_keeps_the_pace(stage: "Stage") -> None:
    stage.rules = msgspec.structs.replace(stage.rules, scheduler=SchedulerRules(delay_s=30.0))

    async def story() -> None:
        store = await stage.open(BY_SERVER)
        await stage.add_seeds(store, "a/1", "a/2", now=WRONG)
        (task,) = await stage.take(store, WRONG)
        await store.release(task, HostFeedback(ended=WRONG - 10.0, took_s=0.1), WRONG)
        moment = await store.acquire_slot(task.host, "a.test", WRONG)
        assert moment == pytest.approx(WRONG + 20.0, abs=2.0), "thirty after ten seconds ago"
        await store.route([range(10)], WRONG)
        leased = await store.lease(0, 1, WRONG)
        assert leased.tasks == []
        assert leased.wake_at is None or leased.wake_at > WRONG + 10
        await store.close()

    asyncio.run(story())


@pytest.mark.req("B3")
def test_callers_that_disagree_about_the_time_agree_about_the_host(stage: "Stage") -> None:
    stage.rules = msgspec.structs.replace(stage.rules, scheduler=SchedulerRules(delay_s=30.0))

    async def story() -> None:
        store = await stage.open(BY_SERVER)
        assert await store.acquire_slot(stage.link("a/").host, "a.test", WRONG) is None
        await store.release_slot(stage.link("a/").host, "a.test", HostFeedback(ended=9e9), 9e9)
        for now in (WRONG, 2e9):
            moment = await store.acquire_slot(stage.link("a/").host, "a.test", now)
            assert moment == pytest.approx(now + 30.0, abs=2.0)
        await store.close()

    asyncio.run(story())


@pytest.mark.req("D10", "D11")
def test_the_server_forgets_contents_by_itself(stage: "Stage") -> None:
    stage.rules = msgspec.structs.replace(stage.rules, keep_s=0.3, similarity=1.0)

    async def story() -> None:
        store = await stage.open(BY_SERVER)
        await stage.add_seeds(store, "a/1", "b/1", now=WRONG)
        first, second = await stage.take(store, WRONG)
        settlement = await stage.kept(store, first, now=WRONG)
        await store.settle(settlement, WRONG)
        assert settlement.page is not None
        digest = settlement.page.digest
        assert (await store.claim(second, digest, None, WRONG)).duplicate_of == 1
        async with stage.client() as client:
            left_ms = await client.pttl(f"{stage.key('content')}1")
            assert 0 < left_ms <= 300
            for _ in range(500):
                if not await client.exists(f"{stage.key('content')}1"):
                    break
                await asyncio.sleep(0.02)
        async with stage.reading() as reader:
            assert await reader.content(1) is None
            assert [page.id async for page in reader.pages()] == [1], "what is known of it stays"
        assert (await store.claim(second, digest, None, WRONG)).page_id == 2
        await store.close()

    asyncio.run(story())


@pytest.mark.req("D10")
def test_what_is_kept_for_good_has_no_time_to_live(stage: "Stage") -> None:
    stage.rules = msgspec.structs.replace(stage.rules, similarity=0.9)

    async def story() -> None:
        store = await stage.open(BY_SERVER)
        await stage.add_seeds(store, "a/1", now=WRONG)
        (task,) = await stage.take(store, WRONG)
        await store.settle(await stage.kept(store, task, now=WRONG), WRONG)
        async with stage.client() as client:
            names = await client.keys(f"gossamer:{{{stage.crawl}}}:*")
            mortal = [name for name in names if await client.pttl(name) != -1]
        assert [name for name in map(str, mortal) if ":answers:" not in name] == []
        await store.close()

    asyncio.run(story())
