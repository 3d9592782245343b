"""Frontier and workers together: who gets what, and how the end is noticed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from gossamer.coordinator import engine as engine_module
from gossamer.coordinator.engine import Engine
from gossamer.coordinator.in_process import InProcessWorkers
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.frontier.contract import HostFeedback, Leased, ReturnedTask, Settled, Settlement, Task
from gossamer.frontier.router import Draw, QueueTable
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.scorers.builtin import Fifo
from gossamer.frontier.service import Frontier
from gossamer.model import Candidate, HostKey, Page, Url
from gossamer.model.names import Sketch
from gossamer.model.page import NO_ATTRIBUTES
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.policy import AddressPolicy
from gossamer.stores.rows import Changes, HostRow, PageRow, UrlRow
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import UrlState
from gossamer.testing import KeepOpen, Reply, Web
from gossamer.urls import Domains, Scope
from gossamer.worker.context import WorkerContext
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.robots import PoliteRobots


class RecordingStore(Frontier):
    """A store that notes who held what, from when to when."""

    def __init__(self, rules: FrontierRules) -> None:
        super().__init__(SqliteRows(), rules, time.time())
        self.spans: list[tuple[int, str, int, int]] = []
        """Worker, domain, and the steps at which the work began and ended."""
        self._step = 0
        self._begun: dict[int, tuple[int, str, int]] = {}

    async def lease(self, worker: int, limit: int, now: float, referrers: bool = False) -> Leased:
        leased = await super().lease(worker, limit, now, referrers)
        for task in leased.tasks:
            self._step += 1
            domain = task.host.removeprefix("www.")
            self._begun[task.lease] = (worker, domain, self._step)
        return leased

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        self._end(settlement.task)
        return await super().settle(settlement, now)

    async def release(
        self,
        task: Task,
        feedback: HostFeedback | None,
        now: float,
        returned: ReturnedTask | None = None,
    ) -> bool:
        self._end(task)
        return await super().release(task, feedback, now, returned)

    def _end(self, task: Task) -> None:
        self._step += 1
        if (begun := self._begun.pop(task.lease, None)) is not None:
            worker, domain, step = begun
            self.spans.append((worker, domain, step, self._step))


class DurableStore(Frontier):
    """A store that answers when what it was told is durable, as a channel does."""

    def __init__(self, rules: FrontierRules) -> None:
        super().__init__(SqliteRows(), rules, time.time())
        self.on_told: Callable[[], None] = lambda: None

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        settled = await super().settle(settlement, now)
        await self._be_durable()
        return settled

    async def claim_and_settle(
        self, settlement: Settlement, sketch: Sketch | None, now: float
    ) -> Settled:
        settled = await super().claim_and_settle(settlement, sketch, now)
        await self._be_durable()
        return settled

    async def release(
        self,
        task: Task,
        feedback: HostFeedback | None,
        now: float,
        returned: ReturnedTask | None = None,
    ) -> bool:
        released = await super().release(task, feedback, now, returned)
        await self._be_durable()
        return released

    async def _be_durable(self) -> None:
        durable = asyncio.Event()
        self.when_durable(durable.set)
        self.on_told()
        async with asyncio.timeout(5):  # else whoever gives back would wait as well
            await durable.wait()


class Silent:
    """A module runner without modules."""

    hooks = Hooks()

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        return Delivered()

    async def finished(self, end: FinishedUrl) -> Delivered:
        return Delivered()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        pass


async def no_tick() -> None:
    pass


class EngineBench:
    """An engine with workers that are tasks of this process."""

    def __init__(
        self, context: WorkerContext, store: Frontier, scorer: Fifo, slots: Sequence[int]
    ) -> None:
        self._engine = Engine(store, time.time, scorer, Draw(QueueTable(10), 0), no_tick)
        self._workers = InProcessWorkers(context, slots, self._engine.settled)
        self.stop = self._engine.stop
        self.settled = self._engine.settled

    async def run(self) -> str:
        return await self._engine.run(self._workers)


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as running:
        yield running


@pytest.fixture(scope="module")
def domains() -> Domains:
    return Domains()


@asynccontextmanager
async def engine(
    web: Web,
    store: Frontier,
    domains: Domains,
    seeds: Sequence[str],
    *,
    slots: Sequence[int] = (4, 4, 4),
    scorer: Fifo | None = None,
) -> AsyncIterator[EngineBench]:
    host, port = web.address
    addresses = AddressPolicy.parse([f"{host}:{port}"])
    scope = Scope.for_seeds("any", [Url(seeds[0])], (), (), domains)
    link_filter = LinkFilter(scope, domains.registered_domain)
    async with asyncio.timeout(10), Client(FetchOptions(), addresses, web.dns) as client:
        context = WorkerContext(
            store=store,
            client=client,
            robots=PoliteRobots(client, store, domains.registered_domain, time.time),
            link_filter=link_filter,
            modules=Silent(),
            clock=time.time,
        )
        await store.add_seeds([link_filter.file(Url(seed)) for seed in seeds], time.time())
        yield EngineBench(context, store, scorer or Fifo(), slots)
        assert asyncio.all_tasks() == {asyncio.current_task()}


def rules(*, max_pages: int = 1000, host_connections: int = 2) -> FrontierRules:
    return FrontierRules(
        scheduler=SchedulerRules(delay_s=0.0, host_connections=host_connections),
        max_pages=max_pages,
        similarity=None,
    )


def many_hosts(web: Web) -> list[str]:
    """Describe ten domains of two hosts each, all linked with each other."""
    names = [f"{sub}d{number}.test" for number in range(10) for sub in ("", "www.")]
    for name in names:
        links = [f"http://{other}/" for other in names] + [f"/{page}" for page in range(5)]
        web.site(name).page("/", links=links)
        for page in range(5):
            web.site(name).reply(f"/{page}", Reply(body=f"{name}{page}", delay_s=0.001 * page))
    return names


@pytest.mark.req("D5", "D6")
@pytest.mark.parametrize("workers", [2, 4, 8])
def test_a_domain_is_with_one_worker_at_a_time(web: Web, domains: Domains, workers: int) -> None:
    names = many_hosts(web)
    store = RecordingStore(rules(host_connections=1))

    async def program() -> str:
        seeds = [f"http://{names[0]}/"]
        async with engine(web, store, domains, seeds, slots=[5] * workers) as one:
            return await one.run()

    assert asyncio.run(program()) == "complete"
    holders: dict[str, set[int]] = {}
    for worker, domain, _, _ in store.spans:
        holders.setdefault(domain, set()).add(worker)
    assert len(holders) == 10
    # The lease of a domain lasts for five minutes, and this crawl did not: nobody changed hands.
    assert {len(those) for those in holders.values()} == {1}
    assert len(set.union(*holders.values())) > 1, "and the work was shared"


@pytest.mark.parametrize(("max_pages", "ended_by"), [(1000, "complete"), (7, "max-pages")])
def test_it_tells_what_ended_the_crawl(
    web: Web, domains: Domains, max_pages: int, ended_by: str
) -> None:
    names = many_hosts(web)
    store = RecordingStore(rules(max_pages=max_pages))

    async def program() -> str:
        async with engine(web, store, domains, [f"http://{names[0]}/"]) as one:
            return await one.run()

    assert asyncio.run(program()) == ended_by


def test_a_page_waits_for_no_commit_and_the_last_commit_for_nothing(
    web: Web, domains: Domains, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "COMMIT_PAUSE_S", 1000.0)
    web.site("a.test").page("/", links=["/more"])
    web.site("a.test").page("/more")
    store = DurableStore(rules())

    async def program() -> str:
        # The host is asked for its robots.txt first, and the one slot is free again at once.
        async with engine(web, store, domains, ["http://a.test/"], slots=[1]) as one:
            store.on_told = one.settled
            return await one.run()

    assert asyncio.run(program()) == "complete"


@pytest.mark.parametrize("last", [True, False])
def test_stopped_it_finishes_what_is_in_progress(web: Web, domains: Domains, *, last: bool) -> None:
    links = [] if last else ["/more"]
    web.site("a.test").reply(
        "/", Reply(body="".join(f"<a href={link}>x</a>" for link in links), delay_s=0.1)
    )
    store = RecordingStore(rules())

    async def program() -> str:
        async with engine(web, store, domains, ["http://a.test/"]) as one:
            running = asyncio.create_task(one.run())
            await asyncio.to_thread(web.wait_for_requests, 2)
            one.stop()
            return await running

    assert asyncio.run(program()) == ("complete" if last else "interrupted")
    snapshot = asyncio.run(store.snapshot(time.time()))
    assert (snapshot.pages, snapshot.in_progress, snapshot.waiting) == (1, 0, len(links))
    assert [record.path for record in web.requests] == ["/robots.txt", "/"]


def test_cancelled_it_gives_back_what_is_in_progress(web: Web, domains: Domains) -> None:
    web.site("a.test").raw("/", KeepOpen())
    store = RecordingStore(rules())

    async def program() -> None:
        async with engine(web, store, domains, ["http://a.test/"]) as one:
            running = asyncio.create_task(one.run())
            await asyncio.to_thread(web.wait_for_requests, 2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(program())
    snapshot = asyncio.run(store.snapshot(time.time()))
    assert (snapshot.in_progress, snapshot.waiting) == (0, 1)


@pytest.mark.req("D15")
def test_a_part_that_breaks_ends_the_crawl_with_its_error(web: Web, domains: Domains) -> None:
    class Broken(Fifo):
        async def score(self, candidates: Sequence[Candidate]) -> list[float]:
            raise ZeroDivisionError(str(len(candidates)))

    web.site("a.test").page("/")
    store = RecordingStore(rules())

    async def program() -> None:
        async with engine(web, store, domains, ["http://a.test/"], scorer=Broken()) as one:
            with pytest.raises(ZeroDivisionError):
                await one.run()

    asyncio.run(program())


def put_pages(rows: SqliteRows, numbers: range) -> None:
    """Store pages, each fetched at the moment of its number."""
    changes, host = Changes(), HostKey("a.test")
    changes.hosts[1] = HostRow(id=1, key=host, domain=host)
    for number in numbers:
        url, key, at = Url(f"http://{host}/{number}"), number.to_bytes(16), float(number)
        changes.urls[number] = UrlRow(number, url, key, 1, UrlState.DONE, 0, 0, None, at)
        changes.pages[number] = PageRow(number, number, 7, key, NO_ATTRIBUTES, at, 0)
        changes.contents[number] = at, b"content"
    assert rows.write(changes) is None


@pytest.mark.req("D10")
def test_expiry_keeps_up_and_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """At any speed: nothing expired is left, and the loop is never held for more than a step."""
    monkeypatch.setattr("gossamer.coordinator.engine.REAP_EVERY_S", 0.0)
    rows = SqliteRows()
    put_pages(rows, range(1, 30_001))
    store = Frontier(rows, FrontierRules(keep_s=5000.0), 0.0)
    running = Engine(store, lambda: 30_000.0, Fifo(), Draw(QueueTable(10), 0), no_tick)

    async def program() -> list[int]:
        reaping = asyncio.create_task(running._reap())
        left = [30_000]
        async with asyncio.timeout(10):
            while left[-1] > 5000:
                await asyncio.sleep(0)
                (found,) = rows.connection.execute("SELECT count(*) FROM contents").fetchone()
                left.append(found)
        await asyncio.sleep(0.01)
        reaping.cancel()
        return left

    left = asyncio.run(program())
    assert max(before - after for before, after in pairwise(left)) <= 100
    (first,) = rows.connection.execute("SELECT min(page) FROM contents").fetchone()
    assert (left[-1], first) == (5000, 25_001)
