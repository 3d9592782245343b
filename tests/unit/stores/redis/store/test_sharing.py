"""Several processes at one crawl, several crawls in one Redis."""

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest
from redis.crc import key_slot

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.frontier import SchedulerRules
from gossamer.model import Outcome
from gossamer.stores.contract import Task
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.opening import OpenRequest
from gossamer.stores.redis import Opening, RedisStore, open_redis
from gossamer.stores.redis.keys import REGISTRY, prefix
from gossamer.stores.redis.open import delete_crawl
from gossamer.stores.redis.opening import open_redis_crawl
from gossamer.stores.url_record import UrlState

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

START = 1_000_000.0
PAGES = 60


@pytest.mark.req("B1", "B2", "D6")
def test_processes_share_a_crawl_and_every_page_is_fetched_once(stage: "Stage") -> None:
    """Eight workers of four processes, each with its own connection and its own memory."""
    fetched: Counter[str] = Counter()
    numbers: list[int] = []

    async def work(store: RedisStore, worker: int) -> None:
        await store.join(worker, START)
        while await store.ended_by() is None:
            await store.prioritise([(one, one.id % 100) for one in await store.candidates(9)])
            await store.route([range(10)] * 3, START)
            for task in (await store.lease(worker, 2, START)).tasks:
                await visit(store, task)

    async def visit(store: RedisStore, task: Task) -> None:
        fetched[task.url] += 1
        number = int(task.url.rpartition("/")[2])
        links = [f"h{target % 7}/{target}" for target in (2 * number, 2 * number + 1)]
        settlement = await stage.kept(store, task, [one for one in links if known(one)])
        assert settlement.page is not None
        numbers.append(settlement.page.page_id)
        assert (await store.settle(settlement, START)).accepted

    def known(name: str) -> bool:
        return int(name.rpartition("/")[2]) <= PAGES

    async def story() -> None:
        stores = [await stage.open() for _ in range(4)]
        await stage.add_seeds(stores[0], "h1/1")
        await asyncio.gather(*[work(stores[worker % 4], worker) for worker in range(8)])
        async with stage.reading() as reader:
            records = [one.record async for one in reader.urls()]
        assert {record.state for record in records} == {UrlState.DONE}
        depths = {int(record.url.rpartition("/")[2]): record.depth for record in records}
        assert depths == {number: number.bit_length() - 1 for number in range(1, PAGES + 1)}
        for store in stores:
            await store.close()

    asyncio.run(story())
    assert set(fetched.values()) == {1}
    assert sorted(numbers) == list(range(1, PAGES + 1))


@pytest.mark.req("D16")
def test_who_takes_part_leaves_the_others_their_leases(stage: "Stage") -> None:
    async def story() -> None:
        first = await stage.open()
        await stage.add_seeds(first, "a/1", "b/1")
        tasks = await stage.take(first)
        second = await stage.open()
        assert (await second.snapshot(START)).in_progress == 2
        assert await first.renew(tasks, START) == []
        await first.script_client.close()
        third = await stage.open(Opening(take_over=True, clock="given", now=START))
        assert (await third.snapshot(START)).in_progress == 0
        assert await third.renew(tasks, START) == list(tasks), "lost, with whoever had them"
        await second.close()
        await third.close()

    asyncio.run(story())


@pytest.mark.req("D16")
def test_the_leases_of_a_dead_process_come_back_in_time(stage: "Stage") -> None:
    async def story() -> None:
        dead, alive = await stage.open(), await stage.open()
        await stage.add_seeds(dead, "a/1")
        (lost,) = await stage.take(dead)
        await dead.script_client.close()
        later = START + stage.rules.scheduler.lease_s
        await alive.join(1, later)
        assert await alive.reap(later) > 0
        (task,) = await stage.take(alive, later, worker=1)
        assert task.url == lost.url
        assert task.lease > lost.lease
        assert (await stage.keep(alive, task, now=later)).accepted
        await alive.close()

    asyncio.run(story())


@pytest.mark.req("D16")
def test_a_url_that_crashed_three_workers_is_given_up(stage: "Stage") -> None:
    async def story() -> None:
        store, now = await stage.open(), START
        await stage.add_seeds(store, "poison/", "poison/good")
        for worker in range(3):
            tasks = {task.url: task for task in await stage.take(store, now, worker)}
            poison = tasks.pop(stage.link("poison/").url)
            assert poison.attempt == 1, "nobody has finished an attempt"
            for task in tasks.values():
                await store.release(task, None, now)
            now += stage.rules.scheduler.lease_s
            await store.reap(now)
        snapshot = await store.snapshot(now)
        assert snapshot.outcomes == {"gave_up": 1}
        assert (snapshot.waiting, snapshot.in_progress) == (1, 0)
        async with stage.reading() as reader:
            records = [one.record async for one in reader.urls()]
        (record,) = [one for one in records if one.outcome is not None]
        assert (record.outcome, record.detail) == (Outcome.GAVE_UP, "it crashed three workers")
        assert len(await stage.take(store, now, 9)) == 1, "the others of its host go on"
        await store.close()

    asyncio.run(story())


def test_a_worker_that_lives_and_is_late_is_no_death(stage: "Stage") -> None:
    async def story() -> None:
        store, now = await stage.open(), START
        await stage.add_seeds(store, "slow/")
        for _ in range(5):
            (_,) = await stage.take(store, now)
            now += stage.rules.scheduler.lease_s
            await store.join(0, now)
            await store.reap(now)
        assert (await store.snapshot(now)).outcomes == {}
        await store.close()

    asyncio.run(story())


def test_crawls_in_one_redis_do_not_touch_each_other(stage: "Stage") -> None:
    async def story() -> None:
        other = f"{stage.crawl}-2"
        one, two = await stage.open(), await stage.open(crawl=other)
        await stage.add_seeds(one, "a/1", "a/2")
        await stage.add_seeds(two, "a/1")
        (task,) = await stage.take(two)
        await stage.keep(two, task)
        assert (await one.snapshot(START)).waiting == 2
        assert (await two.snapshot(START)).pages == 1
        async with stage.client() as client:
            assert {stage.crawl.encode(), other.encode()} <= await client.smembers(REGISTRY)
            await delete_crawl(stage.address, other)
            left = [name async for name in client.scan_iter(f"{prefix(other)}*")]
            assert left == []
            assert other.encode() not in await client.smembers(REGISTRY)
        assert (await one.snapshot(START)).waiting == 2
        await one.close()
        await two.script_client.close()

    asyncio.run(story())


def test_every_key_of_a_crawl_lies_on_one_node(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1", "b/1")
        first, second = await stage.take(store)
        await stage.keep(store, first, ["a/2"])
        await store.settle((await stage.kept(store, second)), START)
        async with stage.client() as client:
            names = [name async for name in client.scan_iter(f"*{stage.crawl}*")]
            assert len(names) > 10
            assert all(name.startswith(prefix(stage.crawl).encode()) for name in names)
            assert len({key_slot(name) for name in names}) == 1
        await store.close()

    asyncio.run(story())


def test_the_rules_of_a_crawl_are_the_same_for_all(stage: "Stage") -> None:
    async def story() -> None:
        first = await stage.open()
        follower = await open_redis(stage.url, stage.crawl, None, Opening(is_checked=True))
        assert follower.rules == stage.rules
        other = msgspec.structs.replace(stage.rules, scheduler=SchedulerRules(delay_s=9.0))
        with pytest.raises(CrawlError, match="other limits or another pace"):
            await open_redis(stage.url, stage.crawl, other, Opening(is_checked=True))
        taking_over = Opening(is_checked=True, take_over=True)
        third = await open_redis(stage.url, stage.crawl, other, taking_over)
        assert third.rules == other
        for store in (first, follower, third):
            await store.close()

    asyncio.run(story())


def test_a_crawl_that_is_not_there_is_not_made_up(stage: "Stage") -> None:
    with pytest.raises(CrawlError, match="no crawl with the name"):
        asyncio.run(open_redis(stage.url, stage.crawl, None, Opening(is_checked=True)))

    async def read() -> None:
        async with stage.reading():
            pass

    with pytest.raises(CrawlError, match="no crawl with the name"):
        asyncio.run(read())


@pytest.mark.parametrize("name", ["", "a b", "a{b}", "a:b", "ä", "x" * 101])
def test_a_name_that_would_be_no_key_is_refused(stage: "Stage", name: str) -> None:
    with pytest.raises(UsageError, match="not a valid name for a crawl"):
        asyncio.run(open_redis(stage.url, name, stage.rules, Opening(is_checked=True)))


def test_the_server_is_checked_before_anything_is_added(stage: "Stage") -> None:
    """What it would cost is told; here: it keeps nothing on disk."""
    told: list[str] = []

    async def story() -> None:
        store = await open_redis(stage.url, stage.crawl, stage.rules, Opening(tell=told.append))
        await store.close()

    asyncio.run(story())
    assert any("appendonly" in words for words in told), told


def test_no_password_gets_into_a_complaint() -> None:
    with pytest.raises(CrawlError) as refused:
        asyncio.run(open_redis("redis://:secret@127.0.0.1:1", "x", None))
    assert "secret" not in str(refused.value)


def test_pace_of_a_host_is_kept_for_all(stage: "Stage") -> None:
    async def story() -> None:
        first, second = await stage.open(), await stage.open()
        await stage.add_seeds(first, "a/1", "a/2")
        task, _ = await stage.take(first)
        feedback = HostFeedback(ended=START, crawl_delay_s=30.0)
        await first.release(task, feedback, START)
        assert await second.acquire_slot(task.host, "a.test", START) == START + 30.0
        await first.close()
        await second.close()

    asyncio.run(story())


@pytest.mark.req("B1")
def test_nothing_starts_over_while_workers_are_at_work(
    stage: "Stage", monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would take what they know of the old crawl for what is in the new one."""
    monkeypatch.setattr("gossamer.stores.redis.opening.SILENT_S", 0.2)
    request = OpenRequest(
        address=StoreAddress("redis", url=stage.url),
        name=stage.crawl,
        directory=None,
        rules=stage.rules,
        check=lambda _: None,
        clock=time.monotonic,
        fresh=True,
    )

    async def give_signs(store: RedisStore) -> None:
        while True:
            await store.join(0, START)
            await asyncio.sleep(0.05)

    async def story() -> None:
        store = await stage.open(Opening())
        await stage.add_seeds(store, "a/")
        await store.join(0, START)
        signs = asyncio.create_task(give_signs(store))
        with pytest.raises(CrawlError, match="are still at work: stop them"):
            async with open_redis_crawl(request):
                pass
        signs.cancel()
        await asyncio.gather(signs, return_exceptions=True)
        assert (await store.snapshot(START)).waiting == 1
        async with open_redis_crawl(request) as opened:
            assert (await opened.store.snapshot(START)).waiting == 0
        await store.let_go()

    asyncio.run(story())
