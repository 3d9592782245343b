"""Links that everybody knows cost the server nothing, and are never taken for known too long."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from gossamer.model import HostKey, Url
from gossamer.stores.contract import Link
from gossamer.stores.redis.known_link_cache import KnownLinkCache, place_of

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

START = 1_000_000.0
LINK = Link(Url("http://a.test/"), b"k" * 16, HostKey("a.test"), "a.test")


def recognised(known: KnownLinkCache, depth: int, hops: int, now: float) -> bool:
    return bool(known.recognise([LINK], place_of(depth, hops), now))


def test_it_is_recognised_at_its_depth_and_farther_away() -> None:
    known = KnownLinkCache(revisit_s=100.0)
    known.meet([LINK.key], [7, place_of(3, 1)], [], START)
    assert known.recognise([LINK], place_of(3, 1), START) == {LINK.key: 7}
    assert recognised(known, 4, 0, START)
    assert not recognised(known, 2, 0, START), "a shorter path"
    assert not recognised(known, 3, 0, START), "fewer redirects"


def test_it_is_forgotten_when_the_store_may_have() -> None:
    known = KnownLinkCache(revisit_s=100.0)
    known.meet([LINK.key], [7, place_of(1, 0)], [0.0], START)
    assert recognised(known, 1, 0, START + 99)
    assert not recognised(known, 1, 0, START + 100)
    known.meet([LINK.key], [7, place_of(1, 0)], [START - 60], START)
    assert recognised(known, 1, 0, START + 39)
    assert not recognised(known, 1, 0, START + 40)


def test_the_oldest_are_forgotten_first() -> None:
    known = KnownLinkCache(revisit_s=100.0, most=8)
    for number in range(9):
        known.meet([bytes([number]) * 16], [number + 1, place_of(1, 0)], [], START)
    links = [Link(LINK.url, bytes([n]) * 16, LINK.host, LINK.domain) for n in range(9)]
    assert sorted(known.recognise(links, place_of(1, 0), START).values()) == [4, 5, 6, 7, 8, 9]


@pytest.mark.req("B2")
def test_a_page_that_came_nearer_takes_its_known_links_along(stage: "Stage") -> None:
    """The process believes that nothing is new about them; the server knows better."""

    async def story() -> None:
        mine, other = await stage.open(), await stage.open()
        await stage.add_seeds(mine, "a/", "b/", "c/")
        tasks = {task.url: task for task in await stage.take(mine)}
        a, b, c = (tasks[stage.link(name).url] for name in ("a/", "b/", "c/"))
        await stage.keep(mine, a, ["a/1"])
        (one,) = await stage.take(mine)
        await stage.keep(mine, one, ["a/2", "x/1"])
        two, x = sorted(await stage.take(mine), key=lambda task: task.url)
        assert two.depth == x.depth == 2
        await stage.keep(mine, x, ["x/2"])
        (deep,) = await stage.take(mine)
        assert deep.depth == 3
        await stage.keep(mine, two, ["x/2"])
        await stage.keep(other, b, [deep.url.removeprefix("http://").replace(".test", "", 1)])
        settled = await stage.keep(mine, deep, ["x/1", "a/2", "y/1"])
        assert settled.new_links == [stage.link("y/1").key]
        async with stage.reading() as reader:
            depths = {one.record.url: one.record.depth async for one in reader.urls()}
        assert depths[deep.url] == 1
        assert depths[two.url] == depths[x.url] == 2
        assert depths[stage.link("y/1").url] == 2
        await mine.release(c, None, START)
        await mine.close()
        await other.close()

    asyncio.run(story())


def test_from_a_settlement_that_is_refused_nothing_is_learnt(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1", "b/1")
        first, second = await stage.take(store)
        settlement = await stage.kept(store, first, ["x/1", "x/2"])
        await store.release(first, None, START)
        assert not (await store.settle(settlement, START)).accepted
        settled = await stage.keep(store, second, ["x/1", "x/2"])
        assert settled.new_links == [stage.link("x/1").key, stage.link("x/2").key]
        await store.close()

    asyncio.run(story())
