"""The links of a page with very many are added slice by slice, all of them and once."""

import asyncio
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.stores.redis import Opening, RedisStore, sliced_links
from gossamer.stores.redis.counters import unpack_counters

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.unit.stores.redis.store.conftest import Stage

pytestmark = pytest.mark.req("D16")

START = 1_000_000.0
NAMES = [f"x/{number}" for number in range(8)]


class KilledError(Exception):
    """The worker is no more."""


@pytest.fixture(autouse=True)
def three_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliced_links, "LINKS_AT_ONCE", 3)
        yield


async def depths(stage: "Stage") -> dict[str, int]:
    async with stage.reading() as reader:
        return {one.record.url: one.record.depth async for one in reader.urls()}


async def settle_and_die(stage: "Stage", store: RedisStore, now: float = START) -> None:
    """Settle the only page with all links; the worker is killed right after that step."""
    ask: Callable[..., object] = store.script_client.ask

    def die(step: str, *arguments: object, **more: object) -> object:
        if step == "add_slice":
            raise KilledError
        return ask(step, *arguments, **more)

    (task,) = await stage.take(store, now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.script_client, "ask", die)
        with pytest.raises(KilledError):
            await stage.keep(store, task, NAMES, now)


async def unadded(stage: "Stage") -> float:
    async with stage.client() as client:
        return unpack_counters(await client.get(stage.key("counts")))["unadded"]


@pytest.mark.req("B2")
def test_all_are_added_and_follow_their_page_when_it_comes_nearer(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/")
        (first,) = await stage.take(store)
        await stage.keep(store, first, ["a/1"])
        (page,) = await stage.take(store)
        settled = await stage.keep(store, page, NAMES)
        assert settled.new_links == [stage.link(name).key for name in NAMES]
        assert await unadded(stage) == 0
        found = await depths(stage)
        assert {found[stage.link(name).url] for name in NAMES} == {2}
        other = (await stage.take(store))[0]
        settled = await stage.keep(store, other, [*NAMES, "x/new"])
        assert settled.new_links == [stage.link("x/new").key], "the others are known"
        await stage.add_seeds(store, "a/1")
        while await store.route([], START):
            pass
        found = await depths(stage)
        assert {found[stage.link(name).url] for name in NAMES} == {1}
        await store.close()

    asyncio.run(story())


@pytest.mark.parametrize("how", ["silent for a lease", "known to be dead", "followed by another"])
def test_what_a_dead_worker_leaves_is_added(stage: "Stage", how: str) -> None:
    async def story() -> None:
        store, now = await stage.open(), START
        await stage.add_seeds(store, "a/")
        await settle_and_die(stage, store)
        for task in await stage.take(store):
            await stage.keep(store, task)
        snapshot = await store.snapshot(now)
        assert (snapshot.waiting, snapshot.ended_by, snapshot.relaxing) == (0, None, True)
        assert await unadded(stage) == 1, "a worker that lives does it itself"
        match how:
            case "silent for a lease":
                now += stage.rules.scheduler.lease_s
            case "known to be dead":
                await store.dismiss(0, [], now)
            case _:
                await store.let_go()
                store = await stage.open(Opening(clock="given", now=now, take_over=True))
        assert how != "silent for a lease" or await store.reap(now), "the router must look"
        while await store.route([], now):
            pass
        snapshot = await store.snapshot(now)
        assert (snapshot.waiting, snapshot.relaxing) == (len(NAMES) - 3, False)
        assert await unadded(stage) == 0
        await store.close()

    asyncio.run(story())


def test_they_outlive_the_server(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis("appendonly yes", "appendfsync always")
    monkeypatch.setattr(stage, "url", server.url)

    async def before() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/")
        await settle_and_die(stage, store)
        await store.let_go()

    async def after() -> None:
        store = await stage.open(Opening(clock="given", now=START, take_over=True))
        while await store.route([], START):
            pass
        assert (await store.snapshot(START)).waiting == len(NAMES)
        await store.close()

    asyncio.run(before())
    server.kill()
    server.start()
    asyncio.run(after())


def test_a_page_that_is_visited_again_loses_none_of_them(stage: "Stage") -> None:
    stage.rules = msgspec.structs.replace(stage.rules, revisit_s=10.0, keep_s=math.inf)

    async def story() -> None:
        store, later = await stage.open(), START + 20
        await stage.add_seeds(store, "a/")
        await settle_and_die(stage, store)
        (one, *others) = await stage.take(store, later)
        for task in others:
            await store.release(task, None, later)
        await stage.keep(store, one, ["a/"], later)
        again = next(task for task in await stage.take(store, later + 1) if "a.test" in task.url)
        settled = await stage.keep(store, again, ["y/"], later + 1)
        assert settled.new_links == [stage.link("y/").key]
        assert await unadded(stage) == 0
        assert {stage.link(name).url for name in NAMES} < (await depths(stage)).keys()
        await store.close()

    asyncio.run(story())
