"""robots.txt in a crawl: obeyed, reported, and asked for as politely as any page."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from crawled import Crawled

from gossamer import Outcome
from gossamer.coordinator.in_process import MemoryCrawl
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.download.robots import RobotsLimits
from gossamer.model import Url
from gossamer.modules.runner import ModuleRunner
from gossamer.policy import AddressPolicy
from gossamer.testing import Reply, Web, traffic_of
from gossamer.urls import Scope, host_key
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.robots import PoliteRobots

Crawl = Callable[..., Crawled]

TEXT = {"Content-Type": "text/plain"}


@pytest.mark.req("F4")
def test_a_forbidden_page_is_not_asked_for_and_is_reported(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /private/")
    site.page("/", links=["/private/x", "/open"])
    site.page("/open")
    crawled = crawl("http://a.test/")
    assert crawled.outcome("http://a.test/private/x") is Outcome.ROBOTS_DENIED
    assert crawled.urls[crawled.pages[0].url].outcome is Outcome.FETCHED
    assert "Disallow: /private/" in next(
        one.detail for one in crawled.urls.values() if one.url.endswith("/x")
    )
    assert sorted(one.path for one in web.requests) == ["/", "/open", "/robots.txt"]


@pytest.mark.req("F4")
def test_ones_own_host_may_be_exempted(web: Web, crawl: Crawl) -> None:
    for name in ("mine.test", "other.test"):
        web.site(name).robots("User-agent: *\nDisallow: /")
        web.site(name).page("/")
    crawled = crawl("http://mine.test/", "http://other.test/", ignore_robots=["Mine.test"])
    assert crawled.outcome("http://mine.test/") is Outcome.FETCHED
    assert crawled.outcome("http://other.test/") is Outcome.ROBOTS_DENIED
    assert [one.path for one in web.requests_to("mine.test")] == ["/"]


@pytest.mark.req("B3", "F4")
@pytest.mark.parametrize("host_connections", [1, 8])
def test_it_is_asked_for_once_for_all_pages_of_a_host(
    web: Web, crawl: Crawl, host_connections: int
) -> None:
    site = web.site("a.test")
    site.reply("/robots.txt", Reply(headers=TEXT, body="", delay_s=0.1))
    seeds = [f"/{number}" for number in range(20)]
    for path in seeds:
        site.page(path)
    crawled = crawl(*[f"http://a.test{path}" for path in seeds], host_connections=host_connections)
    assert crawled.summary.snapshot.pages == 20
    robots, *rest = web.requests
    assert robots.path == "/robots.txt"
    assert sorted(one.path for one in rest) == sorted(seeds)
    assert min(one.started for one in rest) >= robots.ended


@pytest.mark.req("B3", "F4")
@pytest.mark.parametrize("workers", [1, 3])
def test_robots_txt_of_another_host_is_asked_for_at_that_hosts_pace(
    web: Web, crawl: Crawl, workers: int
) -> None:
    """Three hosts keep their rules on a fourth, which is crawled too."""
    names = ["a.test", "b.test", "c.test"]
    home = web.site("home.test")
    home.reply("/robots.txt", Reply(headers=TEXT, body="", delay_s=0.1))
    for name in names:
        home.reply(f"/{name}", Reply(headers=TEXT, body="User-agent: *\nDisallow: /no"))
        web.site(name).redirect("/robots.txt", f"http://home.test/{name}")
        web.site(name).page("/", links=["/no", "/yes"])
        web.site(name).page("/yes")
    home.page("/", links=["/1", "/2"])
    home.page("/1")
    home.page("/2")
    seeds = [f"http://{name}/" for name in ["home.test", *names]]
    crawled = crawl(*seeds, workers=workers, delay="30ms")
    for name in names:
        assert crawled.outcome(f"http://{name}/no") is Outcome.ROBOTS_DENIED
        assert crawled.outcome(f"http://{name}/yes") is Outcome.FETCHED
    traffic = traffic_of(web.requests, time.monotonic())
    assert traffic.most_at_once == 1
    assert traffic.min_gap_s is not None
    assert traffic.min_gap_s >= 0.03


@pytest.mark.req("B3", "F4", "D19")
def test_hosts_that_keep_each_others_robots_txt_do_not_wait_for_ever(
    web: Web, crawl: Crawl
) -> None:
    """Each is held while its robots.txt is asked for, and each leads to the other."""
    for name, other in (("a.test", "b.test"), ("b.test", "a.test")):
        site = web.site(name)
        location = {"Location": f"http://{other}/rules"}
        site.reply("/robots.txt", Reply(status=302, headers=location, delay_s=0.1))
        site.reply("/rules", Reply(headers=TEXT, body="User-agent: *\nDisallow: /no", delay_s=0.1))
        site.page("/", links=["/no"])
    crawled = crawl("http://a.test/", "http://b.test/", delay="30ms")
    assert sorted(str(one) for one in crawled.outcomes().values()) == [
        *["fetched"] * 2,
        *["robots_denied"] * 2,
    ]
    traffic = traffic_of(web.requests, time.monotonic())
    assert traffic.most_at_once == 1
    assert traffic.min_gap_s is not None
    assert traffic.min_gap_s >= 0.03


@pytest.mark.req("B3", "F4")
def test_while_it_is_unreachable_nothing_is_fetched(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    later = Reply(status=503, headers={"Retry-After": "1"})
    site.reply("/robots.txt", later, Reply(headers=TEXT, body="User-agent: *\nDisallow: /no"))
    site.page("/", links=["/no"])
    crawled = crawl("http://a.test/")
    assert crawled.outcome("http://a.test/") is Outcome.FETCHED
    assert crawled.outcome("http://a.test/no") is Outcome.ROBOTS_DENIED
    first, second, home = web.requests
    assert (first.path, second.path, home.path) == ("/robots.txt", "/robots.txt", "/")
    assert second.started - first.ended >= 1.0


@pytest.mark.req("B3", "F4")
def test_a_busy_host_gives_a_slot_to_robots_txt_in_time(web: Web, crawl: Crawl) -> None:
    """The rules of other hosts are there: they do not wait until all of its own pages are read."""
    busy = web.site("busy.test")
    paths = [f"/{number}" for number in range(100)]
    busy.page("/", links=paths)
    for path in paths:
        busy.page(path)
    others = [f"h{number}.test" for number in range(8)]
    for name in others:
        location = {"Location": f"http://busy.test/{name}"}
        web.site(name).reply("/robots.txt", Reply(status=302, headers=location, delay_s=0.1))
        web.site(name).page("/")
        busy.reply(f"/{name}", Reply(headers=TEXT, body=""))
    seeds = [f"http://{name}/" for name in ("busy.test", *others)]
    crawled = crawl(*seeds, delay="20ms")
    assert crawled.summary.snapshot.pages == 101 + len(others)
    asked = [one.path.startswith("/h") for one in web.requests_to("busy.test")]
    assert asked.count(True) == len(others)
    assert asked[-20:].count(True) == 0


@pytest.mark.req("D19")
def test_more_hosts_than_can_be_remembered_are_asked_for_it_once_each(web: Web) -> None:
    """They rest after robots.txt, and others take their place in the memory meanwhile."""
    homes = [Url(f"http://h{number}.test/") for number in range(10)]
    for home in homes:
        web.site(host_key(home)).page("/", links=homes)

    async def run() -> Counter[Outcome | None]:
        address, port = web.address
        crawl = MemoryCrawl(max_depth=1, delay_s=0.02)
        everything = LinkFilter(Scope.for_seeds("host", homes), str)
        async with Client(
            FetchOptions(), AddressPolicy.parse([f"{address}:{port}"]), web.dns
        ) as client:
            context = crawl.context(client, everything, ModuleRunner([]))
            store, clock = context.store, context.clock
            limits = RobotsLimits(packed_bytes=1_500, ready_bytes=1)
            robots = PoliteRobots(client, store, str, clock, limits=limits)
            await crawl.run(homes[0], msgspec.structs.replace(context, robots=robots))
        return Counter(record.outcome for record in crawl.records())

    async def run_for_a_while() -> Counter[Outcome | None]:
        async with asyncio.timeout(20):
            return await run()

    assert asyncio.run(run_for_a_while())[Outcome.FETCHED] == 10
    assert Counter(request.path for request in web.requests) == {"/robots.txt": 10, "/": 10}
