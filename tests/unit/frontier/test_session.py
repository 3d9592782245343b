"""The session of a worker at the store of its coordinator: whoever finds nothing waits there."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from gossamer.frontier.contract import FRONTIER, HostFeedback, Leased, Settlement
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.frontier.session import WorkerSession
from gossamer.model import Outcome, Url
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.urls import Scope, host_key
from gossamer.worker.link_filter import LinkFilter

DELAY_S = 0.15
HOST = host_key(Url("http://a.test/"))


class SessionBench:
    """A session, and the store behind it."""

    def __init__(self, longest_wait_s: float) -> None:
        rules = FrontierRules(scheduler=SchedulerRules(delay_s=DELAY_S), max_pages=100)
        self.store = Frontier(SqliteRows(), rules, time.time())
        self.session = WorkerSession(self.store, time.time, longest_wait_s=longest_wait_s)

    async def assign(self, *urls: str) -> None:
        link_filter = LinkFilter(Scope.for_prefix(Url("http://a.test/")), str)
        await self.store.add_seeds([link_filter.file(Url(url)) for url in urls], time.time())
        while candidates := await self.store.candidates(100):
            await self.store.prioritise([(one, 0.0) for one in candidates])
        while await self.store.route([range(10)], time.time()):
            pass

    def asking(self) -> "asyncio.Task[Leased]":
        return asyncio.create_task(self.session.lease(0, 5, time.time()))

    async def host_in_progress(self) -> list[int]:
        return [host.in_progress for host in await self.store.hosts(5, time.time())]


def run(story: Callable[[SessionBench], Awaitable[None]], longest_wait_s: float = 3.0) -> None:
    async def program() -> None:
        bench = SessionBench(longest_wait_s)
        async with asyncio.timeout(5):
            await bench.store.join(0, time.time())
            await story(bench)
        await bench.store.close()

    asyncio.run(program())


def test_who_waits_gets_what_is_assigned_as_soon_as_it_is_told() -> None:
    async def story(bench: SessionBench) -> None:
        waiting = bench.asking()
        await asyncio.sleep(0.02)
        assert not waiting.done()
        await bench.assign("http://a.test/1")
        begun = time.monotonic()
        bench.session.wake()
        assert [task.url for task in (await waiting).tasks] == ["http://a.test/1"]
        assert time.monotonic() - begun < 0.5

    run(story)


def test_woken_for_nothing_it_waits_on() -> None:
    async def story(bench: SessionBench) -> None:
        waiting = bench.asking()
        for _ in range(3):
            await asyncio.sleep(0.01)
            bench.session.wake()
        await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    run(story)


def test_who_waits_gets_the_next_url_when_its_host_is_due() -> None:
    async def story(bench: SessionBench) -> None:
        await bench.assign("http://a.test/1", "http://a.test/2")
        (task,) = (await bench.asking()).tasks
        ended = time.time()
        feedback = HostFeedback(ended=ended)
        settlement = Settlement(task=task, outcome=Outcome.GONE, feedback=feedback)
        await bench.store.settle(settlement, ended)
        await bench.assign()
        (following,) = (await bench.asking()).tasks
        assert following.url_id != task.url_id
        assert DELAY_S <= time.time() - ended < DELAY_S + 0.5

    run(story)


def test_who_waits_while_its_host_is_asked_is_not_late_for_the_next_url() -> None:
    """It is woken when the host rests: nothing is ready then, but will be soon."""

    async def story(bench: SessionBench) -> None:
        await bench.assign("http://a.test/1", "http://a.test/2")
        (task,) = (await bench.asking()).tasks
        waiting = bench.asking()
        await asyncio.sleep(0.01)
        feedback = HostFeedback(ended=time.time())
        settlement = Settlement(task=task, outcome=Outcome.GONE, feedback=feedback)
        await bench.store.settle(settlement, time.time())
        await bench.assign()
        bench.session.wake()
        (following,) = (await waiting).tasks
        assert following.url_id != task.url_id

    run(story, longest_wait_s=1000.0)


def test_what_was_settled_while_a_call_was_on_its_way_is_not_waited_for() -> None:
    """The moment of the call is that of the worker, who has settled something since."""

    async def story(bench: SessionBench) -> None:
        await bench.assign("http://a.test/1", "http://a.test/2")
        asked_at = time.time()
        (task,) = (await bench.asking()).tasks
        settlement = Settlement(
            task=task, outcome=Outcome.GONE, feedback=HostFeedback(ended=asked_at)
        )
        await bench.store.settle(settlement, asked_at)
        await bench.assign()
        await asyncio.sleep(DELAY_S)
        leased = await bench.session.lease(0, 5, asked_at)
        assert len(leased.tasks) == 1, "by the time of the worker its host still rests"

    run(story, longest_wait_s=0.0)


def test_after_the_longest_wait_it_hears_that_there_is_nothing() -> None:
    async def story(bench: SessionBench) -> None:
        begun = time.time()
        leased = await bench.asking()
        assert leased.tasks == []
        assert 0.1 <= time.time() - begun < 1.0
        assert leased.wake_at is not None
        assert leased.wake_at - time.time() < 0.1, "and asks again at once"

    run(story, longest_wait_s=0.1)


def test_stopped_it_sends_away_who_waits_and_leases_nothing_more() -> None:
    async def story(bench: SessionBench) -> None:
        waiting = bench.asking()
        await asyncio.sleep(0.01)
        begun = time.monotonic()
        bench.session.stop()
        assert (await waiting).tasks == []
        assert time.monotonic() - begun < 0.5
        await bench.assign("http://a.test/1")
        assert (await bench.asking()).tasks == []

    run(story)


def test_slots_of_a_worker_that_died_are_given_back_and_no_others() -> None:
    async def story(bench: SessionBench) -> None:
        await bench.assign("http://a.test/1")
        assert await bench.session.acquire_robots_slot(HOST, HOST, time.time()) is None
        assert await bench.session.acquire_robots_slot(HOST, HOST, time.time()) is not None, (
            "one at a time"
        )
        assert await bench.host_in_progress() == [1]
        await bench.session.take_back()
        assert await bench.host_in_progress() == [0]
        after = time.time() + DELAY_S
        assert await bench.store.acquire_robots_slot(HOST, HOST, after - 0.05) is not None, (
            "it rests"
        )
        assert await bench.store.acquire_robots_slot(HOST, HOST, after) is None, "by somebody else"
        await bench.session.take_back()
        assert await bench.host_in_progress() == [1]

    run(story)


def test_a_slot_that_was_released_is_not_given_back_again() -> None:
    async def story(bench: SessionBench) -> None:
        await bench.assign("http://a.test/1")
        now = time.time()
        assert await bench.session.acquire_robots_slot(HOST, HOST, now) is None
        await bench.session.release_robots_slot(HOST, HOST, HostFeedback(ended=now), now)
        assert await bench.store.acquire_robots_slot(HOST, HOST, now + 1) is None, (
            "by somebody else"
        )
        await bench.session.take_back()
        assert await bench.host_in_progress() == [1]

    run(story)


def test_a_worker_can_call_every_method_of_a_store() -> None:
    async def story(bench: SessionBench) -> None:
        assert bench.session.serve(FRONTIER).target.keys() == FRONTIER.methods.keys()

    run(story)


def test_a_worker_that_closes_its_store_leaves_it_open_for_others() -> None:
    async def story(bench: SessionBench) -> None:
        await bench.session.serve(FRONTIER).target["close"]()
        await bench.assign("http://a.test/1")
        assert (await bench.asking()).tasks

    run(story)
