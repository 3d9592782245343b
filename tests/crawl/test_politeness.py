"""How the web servers are treated, by the only witness that counts: their own log."""

import asyncio
import time
from collections.abc import Callable, Iterable

import pytest
from crawled import Crawled
from tests.chaos.conftest import Withheld

from gossamer.frontier.contract import HostFeedback, Settlement, Task
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import Outcome, Url
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.testing import Raw, Reply, Reset, Web, most_at_once, traffic_of
from gossamer.urls import Scope
from gossamer.worker.link_filter import LinkFilter

Crawl = Callable[..., Crawled]

DELAY_S = 0.05


def pages(web: Web, host: str, count: int, links: Iterable[str] = (), delay_s: float = 0.0) -> None:
    """Describe a host of so many pages, all linked from its home."""
    names = [f"/p{number}" for number in range(1, count)]
    for path in ("/", *names):
        body = "".join(f"<a href='{link}'>x</a>" for link in (*names, *links)) + path
        web.site(host).reply(path, Reply(body=body, delay_s=delay_s))


@pytest.mark.req("B3", "D5", "D6", "F8")
@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_one_request_at_a_time_and_a_pause_after_each(web: Web, crawl: Crawl, workers: int) -> None:
    names = [f"{sub}site{number}.test" for number in range(6) for sub in ("", "www.")]
    for name in names:
        pages(web, name, 5, links=[f"http://{other}/" for other in names])
    crawled = crawl(
        f"http://{names[0]}/", scope="any", workers=workers, delay=f"{DELAY_S * 1000:.0f}ms"
    )
    traffic = traffic_of(web.requests, time.monotonic())
    assert crawled.summary.snapshot.pages == 5 * len(names)
    assert traffic.requests == 6 * len(names), "each page once, and robots.txt"
    assert traffic.repeated == {}
    assert traffic.most_at_once == 1
    assert traffic.min_gap_s is not None
    assert traffic.min_gap_s >= DELAY_S


@pytest.mark.req("B3", "D7")
def test_hosts_do_not_wait_for_each_other(web: Web, crawl: Crawl) -> None:
    names = [f"host{number}.test" for number in range(10)]
    for name in names:
        web.site(name).reply("/", Reply(body=name, delay_s=0.3))
    crawl(*[f"http://{name}/" for name in names], workers=3)
    asked = [record for record in web.requests if record.path == "/"]
    assert most_at_once(asked) == len(names)


@pytest.mark.req("B2", "D7")
def test_a_slow_host_holds_up_no_other(web: Web, crawl: Crawl) -> None:
    """It answers when the other has been asked for all of its pages, or never."""
    pages(web, "fast.test", 50)

    def is_last() -> bool:
        return len({one.path for one in web.requests_to("fast.test")} - {"/robots.txt"}) == 50

    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nslow"
    web.site("slow.test").reply("/", Raw(Withheld(is_last, answer)))
    crawled = crawl("http://slow.test/", "http://fast.test/", workers=1, connections=2)
    assert crawled.outcome("http://slow.test/") is Outcome.FETCHED


@pytest.mark.req("B3")
def test_several_at_once_only_where_the_operator_said_so(web: Web, crawl: Crawl) -> None:
    pages(web, "mine.test", 60, delay_s=0.02)
    crawled = crawl("http://mine.test/", host_connections=8)
    assert crawled.summary.snapshot.pages == 60
    assert most_at_once(web.requests) == 8


@pytest.mark.req("B3")
def test_a_host_that_asks_for_pauses_gets_one_request_at_a_time(web: Web, crawl: Crawl) -> None:
    pages(web, "mine.test", 10, delay_s=0.02)
    web.site("mine.test").robots("User-agent: *\nCrawl-delay: 0.06")
    crawl("http://mine.test/", host_connections=8)
    traffic = traffic_of(web.requests, time.monotonic())
    assert traffic.most_at_once == 1
    assert traffic.min_gap_s is not None
    assert traffic.min_gap_s >= 0.06


@pytest.mark.req("B3")
@pytest.mark.parametrize(("workers", "connections"), [(1, 3), (4, 5)])
def test_the_connections_in_all_are_never_exceeded(
    web: Web, crawl: Crawl, workers: int, connections: int
) -> None:
    names = [f"host{number}.test" for number in range(12)]
    for name in names:
        pages(web, name, 4, delay_s=0.1)
    crawled = crawl(
        *[f"http://{name}/" for name in names], workers=workers, connections=connections
    )
    assert crawled.summary.snapshot.pages == 4 * len(names)
    assert most_at_once(web.requests) == connections


@pytest.mark.req("B3")
@pytest.mark.parametrize("workers", [1, 4])
def test_a_crawl_delay_counts_from_the_first_page_on(web: Web, crawl: Crawl, workers: int) -> None:
    for name in ("slow.test", "quick.test"):
        pages(web, name, 4)
    web.site("slow.test").robots("User-agent: gossamer\nCrawl-delay: 0.5")
    crawl("http://slow.test/", "http://quick.test/", workers=workers, delay="20ms")
    traffic = traffic_of(web.requests, time.monotonic())
    slow, quick = traffic.hosts["slow.test"], traffic.hosts["quick.test"]
    assert slow.min_gap_s is not None
    assert quick.min_gap_s is not None
    assert slow.min_gap_s >= 0.5
    assert 0.02 <= quick.min_gap_s < 0.5


@pytest.mark.req("B3")
def test_a_redirect_and_a_second_attempt_are_requests_like_others(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/old", "/shaky", "/gone"])
    site.redirect("/old", "/new")
    site.page("/new")
    site.reply("/shaky", Reply(status=500), Reply(body="now"))
    crawled = crawl("http://a.test/", delay=f"{DELAY_S * 1000:.0f}ms")
    assert crawled.summary.snapshot.pages == 3
    traffic = traffic_of(web.requests, time.monotonic())
    assert traffic.requests == 7
    assert traffic.min_gap_s is not None
    assert traffic.min_gap_s >= DELAY_S


@pytest.mark.req("B3", "D8")
def test_a_request_that_a_kept_connection_did_not_answer_is_repeated_within_its_visit(
    web: Web, crawl: Crawl
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/x"])
    site.raw("/x", Reset())
    crawl("http://a.test/", delay=f"{DELAY_S * 1000:.0f}ms")
    robots, home, kept, repeated, second = web.requests
    assert len({robots.connection, home.connection, kept.connection}) == 1
    assert repeated.connection != kept.connection
    assert home.started - robots.ended >= DELAY_S
    assert kept.started - home.ended >= DELAY_S
    assert repeated.started - kept.ended >= DELAY_S, "it was seen"
    assert second.started - repeated.ended >= DELAY_S, "the attempt after the first"


@pytest.mark.req("D19")
def test_a_server_that_closes_kept_connections_silently_costs_no_page(
    web: Web, crawl: Crawl
) -> None:
    site, paths = web.site("a.test"), [f"/{number}" for number in range(40)]
    site.page("/", links=paths)
    for path in paths:  # without a word about closing
        body = f"page {path}".encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        site.raw(path, head.encode() + body)
    crawled = crawl("http://a.test/", delay="0s", retries=0)
    assert crawled.summary.snapshot.pages == 41


@pytest.mark.req("B3")
def test_a_slow_host_gets_as_long_as_it_took(web: Web, crawl: Crawl) -> None:
    site = web.site("slow.test")
    site.page("/", links=["/heavy", "/light"])
    site.reply("/heavy", Reply(body="heavy", delay_s=0.4))
    site.page("/light")
    crawl("http://slow.test/", delay="20ms", scorer="fifo")
    _, _, heavy, light = web.requests_to("slow.test")
    assert light.started - heavy.ended >= 0.4


@pytest.mark.req("B3")
def test_a_crawl_delay_is_not_forgotten_while_the_host_has_nothing_to_do() -> None:
    """Its robots.txt is remembered for a day, so nobody would tell of the delay again."""
    link_filter = LinkFilter(Scope.for_prefix(Url("http://a.test/")), str)

    async def program() -> None:
        rules = FrontierRules(scheduler=SchedulerRules(delay_s=1.0))
        store = Frontier(SqliteRows(), rules, 0.0)

        async def leased(path: str, now: float) -> Task:
            await store.join(0, now)
            await store.add_seeds([link_filter.file(Url(f"http://a.test{path}"))], now)
            for candidate in await store.candidates(10):
                await store.prioritise([(candidate, 0.0)])
            await store.route([range(10)], now)
            (task,) = (await store.lease(0, 10, now)).tasks
            return task

        first = await leased("/first", 100.0)
        feedback = HostFeedback(ended=100.0, crawl_delay_s=30.0)
        await store.settle(
            Settlement(task=first, outcome=Outcome.NOT_FOUND, feedback=feedback), 100.0
        )
        await store.reap(10_000.0)
        second = await leased("/second", 10_000.0)
        feedback = HostFeedback(ended=10_001.0)
        await store.settle(
            Settlement(task=second, outcome=Outcome.NOT_FOUND, feedback=feedback), 10_001.0
        )
        (host,) = await store.hosts(1, 10_001.0)
        assert host.next_in_s == 30.0

    asyncio.run(program())


@pytest.mark.req("B3", "D19")
def test_many_names_of_one_address_are_asked_a_few_at_a_time(web: Web, crawl: Crawl) -> None:
    """Those that have waited for a second are left for later, and all are fetched in the end."""
    names = [f"n{number}.test" for number in range(7)]
    for name in names:
        web.site(name).reply("/", Reply(body=f"<p>{name}", delay_s=0.2))
    seeds = [f"http://{name}/" for name in names]
    crawled = crawl(*seeds, address_connections=1, workers=2)
    assert {crawled.outcome(seed) for seed in seeds} == {Outcome.FETCHED}
    assert most_at_once(web.requests) == 1
