"""The path of one page, where its parts do not play along."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeAlias, cast

import pytest

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.frontier.contract import (
    Claim,
    FrontierClient,
    HostFeedback,
    ReturnedTask,
    Settled,
    Settlement,
    Task,
)
from gossamer.model import Event, EventKind, HostKey, Outcome, Page, Url
from gossamer.model.names import Sketch
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.policy import AddressPolicy
from gossamer.testing import KeepOpen, Web
from gossamer.urls import Scope
from gossamer.worker.context import WorkerContext
from gossamer.worker.in_flight import LeaseGuard
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.pipeline import Pipeline
from gossamer.worker.robots import PoliteRobots

MakeTask = Callable[..., Task]
Program: TypeAlias = Callable[[Pipeline], Coroutine[object, object, None]]


class FakeStore:
    """Takes what it is given, and answers as it was told."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self.settlements: list[Settlement] = []
        self.releases: list[HostFeedback | None] = []
        self.returned: list[ReturnedTask | None] = []

    async def metadata(self, _name: str) -> bytes | None:
        return None

    async def claim(
        self, _task: Task, _digest: bytes, _sketch: Sketch | None, _now: float
    ) -> Claim:
        return self._claim

    async def settle(self, settlement: Settlement, _now: float) -> Settled:
        self.settlements.append(settlement)
        return Settled(accepted=True)

    async def release(
        self,
        _task: Task,
        feedback: HostFeedback | None,
        _now: float,
        returned: ReturnedTask | None = None,
    ) -> bool:
        self.releases.append(feedback)
        self.returned.append(returned)
        return True

    async def commit(self) -> None:
        pass


class Reader:
    """A module that remembers the pages."""

    hooks = Hooks(pages=True)

    def __init__(self) -> None:
        self.pages: list[Page] = []

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        self.pages.append(page)
        return Delivered()

    async def finished(self, end: FinishedUrl) -> Delivered:
        return Delivered()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        pass


@pytest.fixture
def site(web: Web) -> Web:
    """A web of a few pages, whose robots.txt asks for pauses."""
    site = web.site("a.test")
    site.robots("User-agent: *\nCrawl-delay: 2\nDisallow: /no")
    site.page("/", links=["/b", "http://b.test/"])
    site.page("/b")
    site.status("/broken", 500)
    return web


def held(task: Task, for_s: float = 60.0) -> LeaseGuard:
    return LeaseGuard(task, time.time() + for_s, time.time)


def run(
    web: Web,
    store: FakeStore,
    program: Program,
    *,
    modules: Reader | None = None,
    watch: Callable[[Event], None] | None = None,
    retries: int = 1,
) -> None:
    """Run a program with a pipeline that knows the site's robots.txt already."""

    async def main() -> None:
        host, port = web.address
        addresses = AddressPolicy.parse([f"{host}:{port}"])
        async with asyncio.timeout(10), Client(FetchOptions(), addresses, web.dns) as client:
            robots = PoliteRobots(client, cast("FrontierClient", store), str, time.time)
            async with robots.holding(HostKey("a.test"), 0.0):
                await robots.judge(Url("http://a.test/"))
            context = WorkerContext(
                store=cast("FrontierClient", store),
                client=client,
                robots=robots,
                link_filter=LinkFilter(Scope.for_prefix(Url("http://a.test/")), str),
                modules=modules or Reader(),
                clock=time.time,
                watch=watch,
                retries=retries,
            )
            await program(Pipeline(context))

    asyncio.run(main())


@pytest.mark.req("D12", "D13")
def test_a_page_is_shown_and_settled_with_the_links_in_scope(site: Web, task: MakeTask) -> None:
    store, reader = FakeStore(Claim(7)), Reader()

    async def program(pipeline: Pipeline) -> None:
        await pipeline.work(held(task()))

    run(site, store, program, modules=reader)
    (page,) = reader.pages
    (settled,) = store.settlements
    assert (page.id, page.url) == (7, "http://a.test/")
    assert page.links == ("http://a.test/b", "http://b.test/")
    assert settled.page is not None
    assert settled.page.page_id == 7
    assert [link.url for link in settled.links] == ["http://a.test/b"]
    assert settled.size == len(page.body)
    assert settled.feedback is not None
    assert settled.feedback.crawl_delay_s == 2, "also a store that has forgotten it keeps to it"


@pytest.mark.req("B1")
def test_who_has_lost_the_lease_shows_and_settles_nothing(site: Web, task: MakeTask) -> None:
    store, reader = FakeStore(Claim(None, lost=True)), Reader()

    async def program(pipeline: Pipeline) -> None:
        assert await pipeline.work(held(task())) is None

    run(site, store, program, modules=reader)
    assert (reader.pages, store.settlements) == ([], [])


@pytest.mark.req("D9")
def test_a_duplicate_is_not_shown_and_its_links_are_not_followed(site: Web, task: MakeTask) -> None:
    store, reader = FakeStore(Claim(None, duplicate_of=3)), Reader()

    async def program(pipeline: Pipeline) -> None:
        await pipeline.work(held(task()))

    run(site, store, program, modules=reader)
    (settled,) = store.settlements
    assert (settled.outcome, settled.links, settled.page) == (Outcome.DUPLICATE, (), None)
    assert settled.detail == "the same content as page 3"
    assert reader.pages == []


def test_a_hopeless_host_is_not_asked(site: Web, task: MakeTask) -> None:
    store = FakeStore(Claim(7))

    async def program(pipeline: Pipeline) -> None:
        site.clear_requests()
        await pipeline.work(held(task(host_given_up=True)))
        assert site.requests == []

    run(site, store, program)
    assert [one.outcome for one in store.settlements] == [Outcome.GAVE_UP]


@pytest.mark.req("B3", "F4")
def test_after_robots_txt_the_host_rests_before_the_page_is_asked_for(
    site: Web, task: MakeTask
) -> None:
    """The port makes it another authority, with a robots.txt of its own."""
    store = FakeStore(Claim(7))
    _, port = site.address

    async def program(pipeline: Pipeline) -> None:
        site.clear_requests()
        assert await pipeline.work(held(task(f"http://a.test:{port}/"))) is None
        assert [one.path for one in site.requests] == ["/robots.txt"]

    run(site, store, program)
    (feedback,) = store.releases
    assert feedback is not None
    assert feedback.crawl_delay_s == 2
    assert time.time() - 5 < feedback.ended <= time.time()
    assert store.settlements == []


@pytest.mark.parametrize("retries", [1, 0])
def test_retries_may_be_off(site: Web, task: MakeTask, retries: int) -> None:
    store = FakeStore(Claim(7))

    async def program(pipeline: Pipeline) -> None:
        await pipeline.work(held(task("http://a.test/broken")))

    run(site, store, program, retries=retries)
    assert [one.retry for one in store.settlements] == [bool(retries)]


def test_watchers_hear_of_each_step(site: Web, task: MakeTask) -> None:
    heard: list[Event] = []

    async def program(pipeline: Pipeline) -> None:
        await pipeline.work(held(task()))
        await pipeline.work(held(task("http://a.test/no")))

    run(site, FakeStore(Claim(7)), program, watch=heard.append)
    assert [event.kind for event in heard] == [
        EventKind.FETCHED,
        EventKind.SCANNING,
        *[EventKind.FOUND, EventKind.ALREADY_KNOWN],
        *[EventKind.FOUND, EventKind.OUTSIDE],
        EventKind.UNFETCHED,
    ]
    assert heard[-1].outcome is Outcome.ROBOTS_DENIED


@pytest.mark.req("B3")
@pytest.mark.parametrize("moment", ["before", "meanwhile"])
def test_who_may_ask_no_longer_is_silent_and_gives_the_task_back(
    site: Web, task: MakeTask, moment: str
) -> None:
    site.site("a.test").raw("/endless", KeepOpen())
    store = FakeStore(Claim(7))

    async def program(pipeline: Pipeline) -> None:
        site.clear_requests()
        guard = held(task("http://a.test/endless"))
        if moment == "before":
            guard.lose()
        working = asyncio.create_task(pipeline.work(guard))
        if moment == "meanwhile":
            await asyncio.to_thread(site.wait_for_requests, 1)
            guard.lose()
        assert await working is None
        assert len(site.requests) == (moment == "meanwhile")

    run(site, store, program)
    assert store.releases == [None]
    assert store.settlements == []
