"""A server that has lost its last seconds: nobody asks a host before it may be asked again.

Two servers, of which the second has what the first one had a moment ago; the address leads to the
first, and then to the second.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tcp_proxy import TcpProxy

from gossamer.frontier import SchedulerRules
from gossamer.model import Outcome
from gossamer.stores import StoreRules
from gossamer.stores.contract import Settlement, Task
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.redis import Opening, RedisStore

if TYPE_CHECKING:
    from redis_servers import RedisServer, StartServer
    from tests.unit.stores.redis.store.conftest import Stage

pytestmark = pytest.mark.req("B1", "B3")

NOW = 1_000_000.0
LEASE_S = 10.0
DELAY_S = 1.0
SAFE_AT = NOW + LEASE_S + DELAY_S
"""When hosts may be asked again after a loss that was noticed now."""


def copy(source: "RedisServer", target: "RedisServer") -> None:
    """Give a server what another one has."""
    with source.client as one, target.client as other:
        for name in one.scan_iter(count=1000):
            dump = one.dump(name)
            assert dump is not None
            other.restore(name, 0, dump, replace=True)


class ServerPair:
    """A crawl whose server can be exchanged for one that has forgotten something."""

    def __init__(
        self, stage: "Stage", first: "RedisServer", second: "RedisServer", proxy: TcpProxy
    ) -> None:
        self.stage = stage
        self._first = first
        self._second = second
        self._proxy = proxy

    async def remember(self) -> None:
        """From now on everything is lost."""
        await asyncio.to_thread(copy, self._first, self._second)

    def fail_over(self) -> None:
        self._proxy.lead_to(("127.0.0.1", self._second.port))
        self._proxy.cut()

    def cut(self) -> None:
        self._proxy.cut()

    async def take(self, store: RedisStore, now: float) -> list[str]:
        """Lease what may be asked now; return the hosts."""
        return sorted({task.host for task in await self.stage.take(store, now)})


Story = Callable[[ServerPair], Awaitable[None]]


@pytest.fixture
def play(stage: "Stage", start_redis: "StartServer") -> Callable[[Story], None]:
    scheduler = SchedulerRules(delay_s=DELAY_S, lease_s=LEASE_S)
    stage.rules = StoreRules(scheduler=scheduler, similarity=None)
    first, second = (start_redis(ports=("port",)) for _ in range(2))

    @asynccontextmanager
    async def pair() -> AsyncIterator[ServerPair]:
        async with asyncio.timeout(20), TcpProxy(("127.0.0.1", first.port)) as proxy:
            stage.url = f"redis://127.0.0.1:{proxy.port}"
            yield ServerPair(stage, first, second, proxy)

    def run(story: Story) -> None:
        async def main() -> None:
            async with pair() as one:
                await story(one)

        before = stage.url
        try:
            asyncio.run(main())
        finally:
            stage.url = before

    return run


def missed(task: Task, now: float) -> Settlement:
    return Settlement(task=task, outcome=Outcome.NOT_FOUND, feedback=HostFeedback(ended=now))


def test_no_host_is_assigned_before_the_last_lease_of_the_lost_time_and_a_delay(
    play: Callable[[Story], None],
) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1", "a/2", "b/1")
        await pair.remember()
        tasks = await pair.stage.take(store)
        assert len(tasks) == 2
        pair.fail_over()
        assert await store.renew(tasks, NOW) == tasks, "the server does not know of them"
        for early_s in (0.0, LEASE_S, LEASE_S + DELAY_S - 0.01):
            assert await pair.take(store, NOW + early_s) == []
        assert await pair.take(store, SAFE_AT) == ["a.test", "b.test"]
        await store.let_go()

    play(story)


def test_what_was_not_forgotten_is_settled_and_then_paused(play: Callable[[Story], None]) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1", "a/2")
        (task,) = await pair.stage.take(store)
        await pair.remember()
        pair.fail_over()
        assert await store.renew([task], NOW) == []
        assert (await store.settle(missed(task, NOW + 1), NOW + 1)).accepted
        assert await pair.take(store, SAFE_AT - 0.01) == []
        (other,) = await pair.stage.take(store, SAFE_AT)
        await store.settle(missed(other, SAFE_AT), SAFE_AT)
        assert await store.ended_by() == "complete"
        await store.let_go()

    play(story)


def test_no_slots_are_acquired_either_and_new_hosts_wait(play: Callable[[Story], None]) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1")
        await pair.remember()
        host = pair.stage.link("n/").host
        assert await store.acquire_slot(host, "n.test", NOW) is None
        pair.fail_over()
        assert await store.acquire_slot(host, "n.test", NOW) == SAFE_AT
        assert await store.acquire_slot(host, "n.test", SAFE_AT) is None
        await store.let_go()

    play(story)


def test_a_place_that_nobody_knows_of_any_more_is_no_second_one(
    play: Callable[[Story], None],
) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1", "a/2")
        host = pair.stage.link("a/").host
        await pair.remember()
        assert await store.acquire_slot(host, "a.test", NOW) is None
        pair.fail_over()
        await store.release_slot(host, "a.test", HostFeedback(ended=NOW + 20), NOW + 20)
        assert await pair.take(store, NOW + 20.5) == [], "it rests after that request"
        assert len(await pair.stage.take(store, NOW + 40)) == 1
        assert await pair.take(store, NOW + 60) == [], "one at a time"
        await store.let_go()

    play(story)


def test_a_place_that_was_given_back_in_the_lost_time_is_taken_back(
    play: Callable[[Story], None],
) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1")
        host = pair.stage.link("a/").host
        assert await store.acquire_slot(host, "a.test", NOW) is None
        await pair.remember()
        await store.release_slot(host, "a.test", HostFeedback(ended=NOW), NOW)
        pair.fail_over()
        await store.reap(NOW + LEASE_S - 0.1)
        assert await pair.take(store, NOW + 2 * LEASE_S) == []
        await store.reap(NOW + 2 * LEASE_S)
        assert await pair.take(store, NOW + 2 * LEASE_S + DELAY_S) == ["a.test"]
        await store.let_go()

    play(story)


def test_another_connection_to_the_same_server_costs_nothing(play: Callable[[Story], None]) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1", "b/1")
        pair.cut()
        assert await pair.take(store, NOW) == ["a.test", "b.test"]
        await store.let_go()

    play(story)


def test_a_crawl_that_is_taken_over_after_the_loss_waits_as_well(
    play: Callable[[Story], None],
) -> None:
    async def story(pair: ServerPair) -> None:
        store = await pair.stage.open()
        await pair.stage.add_seeds(store, "a/1")
        await store.join(0, NOW)
        await pair.remember()
        await store.let_go()
        pair.fail_over()
        store = await pair.stage.open(Opening(take_over=True, clock="given", now=NOW))
        assert await pair.take(store, SAFE_AT - 0.01) == []
        assert await pair.take(store, SAFE_AT) == ["a.test"]
        await store.let_go()

    play(story)
