"""robots.txt is asked for on slots that somebody has, never beside them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.frontier.contract import HostFeedback
from gossamer.frontier.service import Frontier
from gossamer.model import HostKey, Outcome, Url
from gossamer.policy import AddressPolicy
from gossamer.testing import KeepOpen, Reply, Web, min_gap_s, most_at_once
from gossamer.worker.in_flight import LeaseLostError
from gossamer.worker.robots import PoliteRobots

DELAY_S = 0.1

A, B = HostKey("a.test"), HostKey("b.test")
A_HOME, B_HOME = Url("http://a.test/"), Url("http://b.test/")


@asynccontextmanager
async def polite_robots(web: Web, store: Frontier) -> AsyncIterator[PoliteRobots]:
    host, port = web.address
    addresses = AddressPolicy.parse([f"{host}:{port}"])
    async with Client(FetchOptions(), addresses, web.dns) as client:
        yield PoliteRobots(client, store, str, time.time)


def run(web: Web, store: Frontier, program: Callable[[PoliteRobots], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(10), polite_robots(web, store) as robots:
            await program(robots)

    asyncio.run(main())


@pytest.mark.req("F4")
def test_it_is_fetched_on_the_place_of_the_task(web: Web, store: Frontier) -> None:
    web.site("a.test").robots("User-agent: *\nDisallow: /no\nCrawl-delay: 3")

    async def program(robots: PoliteRobots) -> None:
        assert robots.known(A_HOME) is None
        async with robots.holding(A, DELAY_S) as slot:
            assert (await robots.judge(A_HOME)).allowed
            rules = await robots.cache.rules(A_HOME)
        assert rules is not None
        assert rules.crawl_delay_s == 3
        assert slot.feedback is not None
        assert slot.feedback.ended <= time.time()
        async with robots.holding(A, DELAY_S) as again:
            assert (await robots.judge(Url("http://a.test/no"))).refusal is Outcome.ROBOTS_DENIED
        assert again.feedback is None, "it was not asked again"
        known = robots.known(Url("http://a.test/no"))
        assert known is not None
        assert known.refusal is Outcome.ROBOTS_DENIED

    run(web, store, program)
    assert len(web.requests) == 1


@pytest.mark.req("B3", "F4")
def test_a_redirect_on_the_same_host_waits_for_the_pause(web: Web, store: Frontier) -> None:
    site = web.site("a.test")
    site.redirect("/robots.txt", "/rules")
    site.reply("/rules", Reply(body="User-agent: *\nDisallow: /"))

    async def program(robots: PoliteRobots) -> None:
        async with robots.holding(A, DELAY_S):
            assert not (await robots.judge(A_HOME)).allowed

    run(web, store, program)
    gap = min_gap_s(web.requests)
    assert gap is not None
    assert gap >= DELAY_S


@pytest.mark.req("B3", "F4")
def test_on_another_host_a_slot_is_acquired_and_released(web: Web, store: Frontier) -> None:
    """The other host is at work: the request waits for that, and the next one for the request."""
    web.site("a.test").redirect("/robots.txt", "http://b.test/rules")
    web.site("b.test").reply("/rules", Reply(body="", delay_s=0.05))

    async def program(robots: PoliteRobots) -> None:
        assert (
            await store.acquire_robots_slot(B, "b.test", time.time()) is None
        )  # somebody is there
        async with robots.holding(A, DELAY_S):
            judging = asyncio.create_task(robots.judge(A_HOME))
            await asyncio.sleep(0.2)
            assert web.requests_to("b.test") == []
            left = time.time()
            await store.release_robots_slot(B, "b.test", HostFeedback(ended=left), left)
            assert (await judging).allowed
        moment = await store.acquire_robots_slot(B, "b.test", time.time())
        assert moment is not None
        (asked,) = web.requests_to("b.test")
        assert time.monotonic() + (moment - time.time()) >= asked.ended + DELAY_S

    run(web, store, program)


@pytest.mark.req("B3", "F4")
def test_a_place_that_waits_for_robots_txt_is_shared(web: Web, store: Frontier) -> None:
    """Both hosts are held, and each keeps the rules of the other."""
    for name, other in (("a.test", "b.test"), ("b.test", "a.test")):
        location = {"Location": f"http://{other}/rules"}
        web.site(name).reply("/robots.txt", Reply(status=302, headers=location, delay_s=0.05))
        web.site(name).reply("/rules", Reply(body="User-agent: *\nDisallow: /no", delay_s=0.05))
    hosts = {A: A_HOME, B: B_HOME}
    for host in hosts:
        assert asyncio.run(store.acquire_robots_slot(host, str(host), time.time())) is None

    async def program(robots: PoliteRobots) -> None:
        async def visit(host: HostKey) -> None:
            async with robots.holding(host, DELAY_S) as slot:
                assert (await robots.judge(hosts[host])).allowed
            # Nothing is on its way there any more, and what was last is known.
            last = max(one.ended for one in web.requests_to(host))
            assert last <= time.monotonic()
            assert slot.feedback is not None
            assert slot.feedback.ended - time.time() >= last - time.monotonic()
            await store.release_robots_slot(host, str(host), slot.feedback, time.time())

        await asyncio.gather(visit(A), visit(B))

    run(web, store, program)
    for host in hosts:
        records = web.requests_to(host)
        assert sorted(one.path for one in records) == ["/robots.txt", "/rules"]
        assert most_at_once(records) == 1
        gap = min_gap_s(records)
        assert gap is not None
        assert gap >= DELAY_S


@pytest.mark.req("B3")
def test_a_host_of_an_acquired_slot_that_asks_for_time_gets_it(web: Web, store: Frontier) -> None:
    web.site("a.test").redirect("/robots.txt", "http://b.test/rules")
    web.site("b.test").status("/rules", 503, headers={"Retry-After": "40"})

    async def program(robots: PoliteRobots) -> None:
        async with robots.holding(A, DELAY_S):
            assert (await robots.judge(A_HOME)).refusal is Outcome.ROBOTS_UNREACHABLE
        moment = await store.acquire_robots_slot(B, "b.test", time.time())
        assert moment is not None
        assert 35 < moment - time.time() <= 40

    run(web, store, program)


def test_who_is_cancelled_leaves_the_place_and_the_host_its_pause(
    web: Web, store: Frontier
) -> None:
    web.site("a.test").redirect("/robots.txt", "http://b.test/rules")
    web.site("b.test").raw("/rules", KeepOpen())

    async def program(robots: PoliteRobots) -> None:
        async def visit() -> None:
            async with robots.holding(A, DELAY_S):
                await robots.judge(A_HOME)

        visiting = asyncio.create_task(visit())
        await asyncio.to_thread(web.wait_for_requests, 2)
        before = time.time()
        visiting.cancel()
        await asyncio.gather(visiting, return_exceptions=True)
        await asyncio.sleep(0)
        moment = await store.acquire_robots_slot(B, "b.test", before)
        assert moment is not None
        assert before + DELAY_S <= moment <= time.time() + DELAY_S

    run(web, store, program)


@pytest.mark.req("B3")
def test_an_acquired_slot_is_released_within_a_lease(web: Web, store: Frontier) -> None:
    web.site("a.test").redirect("/robots.txt", "http://b.test/robots.txt")
    web.site("b.test").raw("/robots.txt", KeepOpen())

    async def program(robots: PoliteRobots) -> None:
        robots._lease_s = 0.2
        async with robots.holding(A, DELAY_S):
            with pytest.raises(LeaseLostError):
                await robots.judge(A_HOME)
        moment = await store.acquire_robots_slot(B, "b.test", time.time())
        assert moment is not None
        assert moment <= time.time() + DELAY_S, "only its pause is left"

    run(web, store, program)
