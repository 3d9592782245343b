"""The loop of a worker: what it takes, and what it gives back when it ends."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.frontier.contract import Leased, Task
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import Page, Url
from gossamer.model.errors import CrawlError
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.policy import AddressPolicy
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import UrlState
from gossamer.testing import KeepOpen, Reply, Web, most_at_once
from gossamer.urls import Scope
from gossamer.worker import loop
from gossamer.worker.context import WorkerContext
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.loop import Worker
from gossamer.worker.robots import PoliteRobots

Deliver: TypeAlias = Callable[[Page], Coroutine[object, object, None]]

DELAY_S = 0.2


class Show:
    """A module runner that does with pages what it was told."""

    hooks = Hooks(pages=True, depths=True)

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        await self._deliver(page)
        return Delivered()

    async def finished(self, end: FinishedUrl) -> Delivered:
        return Delivered()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        pass


async def nothing(_page: Page) -> None:
    pass


class WorkerBench:
    """A worker at its slot, with some URLs assigned to it."""

    def __init__(self, context: WorkerContext, store: Frontier, slots: int) -> None:
        self.context, self.store = context, store
        self.settled = 0
        self.worker = Worker(0, context, slots, self._note)

    def _note(self) -> None:
        self.settled += 1

    async def assign(self) -> None:
        """Score and deal all that waits."""
        while candidates := await self.store.candidates(100):
            await self.store.prioritise([(one, 0.0) for one in candidates])
        while await self.store.route([range(10)], time.time()):
            pass
        self.worker.wake()

    def slots(self) -> dict[str, UrlState]:
        return {record.url: record.state for record in self.store.records()}


@asynccontextmanager
async def bench(
    web: Web,
    *seeds: str,
    slots: int = 4,
    max_pages: int = 100,
    deliver: Deliver = nothing,
    lease_s: float = 120.0,
) -> AsyncIterator[WorkerBench]:
    host, port = web.address
    addresses = AddressPolicy.parse([f"{host}:{port}"])
    rules = FrontierRules(scheduler=SchedulerRules(delay_s=DELAY_S), max_pages=max_pages)
    store = Frontier(SqliteRows(), rules, time.time())
    link_filter = LinkFilter(Scope.for_prefix(Url("http://nowhere.test/")), str)
    async with asyncio.timeout(10), Client(FetchOptions(), addresses, web.dns) as client:
        context = WorkerContext(
            store=store,
            client=client,
            robots=PoliteRobots(client, store, str, time.time),
            link_filter=link_filter,
            modules=Show(deliver),
            clock=time.time,
            ignored_robots=frozenset({"a.test", "b.test", "c.test"}),
            lease_s=lease_s,
        )
        made = WorkerBench(context, store, slots)
        await store.join(0, time.time())
        await store.add_seeds([link_filter.file(Url(seed)) for seed in seeds], time.time())
        await made.assign()
        yield made


async def asked(web: Web, count: int) -> None:
    await asyncio.to_thread(web.wait_for_requests, count)


SEEDS = ("http://a.test/", "http://b.test/", "http://c.test/")


@pytest.fixture
def slow_web(web: Web) -> Web:
    for name in ("a.test", "b.test", "c.test"):
        web.site(name).reply("/", Reply(body=name, delay_s=0.1))
    return web


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_as_many_at_a_time_as_it_has_places(slow_web: Web, slots: int) -> None:
    async def program() -> None:
        async with bench(slow_web, *SEEDS, slots=slots) as one:
            running = asyncio.create_task(one.worker.run())
            await asked(slow_web, 3)
            one.worker.stop()
            await running
            assert set(one.slots().values()) == {UrlState.DONE}
            assert one.settled >= 3

    asyncio.run(program())
    assert most_at_once(slow_web.requests) == min(slots, 3)


def test_stopped_it_ends_what_is_in_progress_and_begins_nothing(slow_web: Web) -> None:
    async def program() -> None:
        async with bench(slow_web, *SEEDS, slots=1) as one:
            running = asyncio.create_task(one.worker.run())
            await asked(slow_web, 1)
            one.worker.stop()
            await running
            assert sorted(one.slots().values()) == [
                UrlState.ASSIGNED,
                UrlState.ASSIGNED,
                UrlState.DONE,
            ]

    asyncio.run(program())
    assert len(slow_web.requests) == 1


@pytest.mark.req("B1", "B3")
def test_cancelled_it_gives_back_what_is_in_progress_and_the_host_rests(web: Web) -> None:
    web.site("a.test").raw("/", KeepOpen())

    async def program() -> None:
        async with bench(web, "http://a.test/") as one:
            running = asyncio.create_task(one.worker.run())
            await asked(web, 1)
            before = time.time()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert one.slots() == {"http://a.test/": UrlState.QUEUED}
            assert one.store._state.budget.reserved == 0
            (host,) = await one.store.hosts(1, before)
            assert DELAY_S <= host.next_in_s <= DELAY_S + time.time() - before
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(program())


@pytest.mark.req("B1", "B3", "D12")
def test_what_breaks_us_is_raised_and_its_url_given_back(slow_web: Web) -> None:
    async def full(page: Page) -> None:
        if page.url == "http://b.test/":
            raise CrawlError("the disk is full")

    async def program() -> None:
        async with bench(slow_web, *SEEDS, deliver=full) as one:
            with pytest.raises(CrawlError, match="the disk is full"):
                await one.worker.run()
            assert one.slots()["http://b.test/"] is UrlState.QUEUED
            assert UrlState.LEASED not in one.slots().values()
            hosts = {host.host: host for host in await one.store.hosts(5, time.time())}
            assert hosts["b.test"].next_in_s > DELAY_S - 0.1

    asyncio.run(program())


@pytest.mark.req("D14")
def test_it_waits_for_a_budget_that_others_have_set_aside(slow_web: Web) -> None:
    async def program() -> None:
        async with bench(slow_web, *SEEDS, max_pages=1) as one:
            allowed = one.store._state.budget.reserve()
            running = asyncio.create_task(one.worker.run())
            await asyncio.sleep(0.02)
            assert one.worker.starved
            assert slow_web.requests == []
            one.store._state.budget.use(allowed, 0)
            one.worker.wake()
            await asked(slow_web, 1)
            one.worker.stop()
            await running

    asyncio.run(program())


def test_a_lease_that_cannot_be_renewed_ends_it(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.site("a.test").raw("/", KeepOpen())
    monkeypatch.setattr(loop, "RENEWALS", 2400)  # every 50 ms

    async def program() -> None:
        async with bench(web, "http://a.test/") as one:

            async def fail(*_: object) -> None:
                raise OSError("the store is gone")

            monkeypatch.setattr(one.store, "renew", fail)
            with pytest.raises(OSError, match="the store is gone"):
                await one.worker.run()

    asyncio.run(program())


@pytest.mark.req("D16")
def test_leases_are_renewed_while_their_work_goes_on(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.site("a.test").raw("/", KeepOpen())
    monkeypatch.setattr(loop, "RENEWALS", 2400)  # every 50 ms

    async def program() -> None:
        async with bench(web, "http://a.test/") as one:
            running = asyncio.create_task(one.worker.run())
            await asked(web, 1)
            (lease,) = one.store._scheduler.leases.of_url.values()
            before = lease.row.deadline
            await asyncio.sleep(0.2)
            assert [*one.store._scheduler.leases.of_url.values()] == [lease]
            assert lease.row.deadline > before
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(program())


@pytest.mark.req("B3")
@pytest.mark.parametrize("answer", ["lost", "none"])
def test_a_request_whose_lease_is_lost_or_not_renewed_in_time_is_cut_off(
    web: Web, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Somebody else may ask the host by then."""
    web.site("a.test").raw("/", KeepOpen())

    async def program() -> None:
        async with bench(web, "http://a.test/", lease_s=1.6) as one:

            async def renew(tasks: Sequence[Task], _now: float) -> list[Task]:
                if answer == "none":
                    await asyncio.Event().wait()
                return list(tasks)

            monkeypatch.setattr(one.store, "renew", renew)
            running = asyncio.create_task(one.worker.run())
            await asked(web, 1)
            while one.slots() != {"http://a.test/": UrlState.QUEUED}:  # noqa: ASYNC110 -- no event
                await asyncio.sleep(0.01)
            (host,) = await one.store.hosts(1, time.time())
            assert host.next_in_s > DELAY_S - 0.1, "it may have been asked a moment ago"
            assert not running.done()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(program())
    while math.isinf(web.requests[0].ended):  # the server notices a moment later
        time.sleep(0.01)


def states(one: WorkerBench) -> list[UrlState]:
    return sorted(one.slots().values())


@pytest.mark.req("B1", "B3")
def test_leaving_it_gives_back_requests_and_settles_what_modules_have_seen(web: Web) -> None:
    web.site("a.test").reply("/", Reply(body="seen"))
    web.site("b.test").raw("/", KeepOpen())

    async def program() -> None:
        shown, go_on = asyncio.Event(), asyncio.Event()

        async def deliver(_page: Page) -> None:
            shown.set()
            await go_on.wait()

        async with bench(web, "http://a.test/", "http://b.test/", deliver=deliver) as one:
            running = asyncio.create_task(one.worker.run())
            await asked(web, 2)
            await shown.wait()
            one.worker.leave()
            await asyncio.sleep(0)
            assert not running.done()
            go_on.set()
            await running
            assert one.slots() == {
                "http://a.test/": UrlState.DONE,
                "http://b.test/": UrlState.QUEUED,
            }
            assert one.store._state.budget.reserved == 0

    asyncio.run(program())


def test_what_it_was_given_while_it_left_is_given_back_unasked(
    slow_web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def program() -> None:
        async with bench(slow_web, *SEEDS) as one:
            given, go_on, lease = asyncio.Event(), asyncio.Event(), one.store.lease

            async def slowly(worker: int, limit: int, now: float, referrers: bool) -> Leased:
                leased = await lease(worker, limit, now, referrers)
                given.set()
                await go_on.wait()
                return leased

            monkeypatch.setattr(one.store, "lease", slowly)
            running = asyncio.create_task(one.worker.run())
            await given.wait()
            one.worker.leave()
            go_on.set()
            await running
            assert states(one) == [UrlState.QUEUED] * 3
            assert one.store._state.budget.reserved == 0

    asyncio.run(program())
    assert slow_web.requests == []


@pytest.mark.req("D1")
def test_told_to_use_fewer_slots_it_says_when_it_does_so(slow_web: Web) -> None:
    async def program() -> None:
        async with bench(slow_web, *SEEDS, slots=2) as one:
            running = asyncio.create_task(one.worker.run())
            await asked(slow_web, 2)
            assert states(one).count(UrlState.LEASED) == 2
            await one.worker.set_slots(1)
            assert states(one).count(UrlState.LEASED) <= 1
            await asked(slow_web, 3)
            one.worker.stop()
            await running
            assert states(one) == [UrlState.DONE] * 3

    asyncio.run(program())


@pytest.mark.req("D1")
def test_told_to_use_more_slots_it_begins_more_at_once(slow_web: Web) -> None:
    async def program() -> None:
        async with bench(slow_web, *SEEDS, slots=1) as one:
            running = asyncio.create_task(one.worker.run())
            await asked(slow_web, 1)
            await one.worker.set_slots(3)
            await asked(slow_web, 3)
            one.worker.stop()
            await running

    asyncio.run(program())
    assert most_at_once(slow_web.requests) == 3
