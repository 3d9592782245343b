"""Budgets are exact: never exceeded, used up, named in the summary, and to be raised later."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled, crawl_into

from gossamer.testing import Reply, Web

Crawl = Callable[..., Crawled]

BODY_BYTES = 1000


def wide_web(web: Web, hosts: int = 10, pages: int = 10) -> list[str]:
    """Describe hosts of equal pages, 1,000 bytes each, and return their homes."""
    for host in range(hosts):
        site = web.site(f"h{host}.test")
        for page in range(pages):
            links = "".join(f"<a href='/{other}'>x</a>" for other in range(pages))
            body = f"{links}{host}/{page}".ljust(BODY_BYTES)
            site.reply(f"/{page}", Reply(body=body, delay_s=0.001 * (page % 3)))
    return [f"http://h{host}.test/0" for host in range(hosts)]


def pages_asked(web: Web) -> Counter[str]:
    return Counter(one.host + one.path for one in web.requests if one.path != "/robots.txt")


@pytest.mark.req("D14")
@pytest.mark.parametrize("max_pages", [1, 7, 50, 99])
@pytest.mark.parametrize("workers", [1, 8])
def test_as_many_pages_as_allowed_and_not_one_more(
    web: Web, crawl: Crawl, workers: int, max_pages: int
) -> None:
    crawled = crawl(*wide_web(web), workers=workers, max_pages=max_pages)
    snapshot = crawled.summary.snapshot
    assert crawled.summary.ended_by == "max-pages"
    assert snapshot.pages == len(crawled.pages) == max_pages
    assert pages_asked(web).total() == max_pages, "what may not be kept is not even asked for"
    assert snapshot.in_progress == 0
    assert snapshot.waiting > 0
    assert sorted(page.id for page in crawled.pages) == list(range(1, max_pages + 1))


@pytest.mark.req("D14")
@pytest.mark.parametrize("workers", [1, 8])
def test_not_a_byte_more_than_allowed(web: Web, crawl: Crawl, workers: int) -> None:
    crawled = crawl(*wide_web(web), workers=workers, max_bytes=25_500, max_page_bytes=BODY_BYTES)
    assert crawled.summary.ended_by == "max-bytes"
    assert crawled.summary.snapshot.bytes == 25_000
    assert pages_asked(web).total() == 25


@pytest.mark.req("D14")
def test_a_budget_smaller_than_the_largest_page_is_kept_too(web: Web, crawl: Crawl) -> None:
    crawled = crawl(*wide_web(web), workers=4, max_bytes=2500, max_page_bytes=2400)
    assert crawled.summary.ended_by == "max-bytes"
    assert crawled.summary.snapshot.bytes == 1000


@pytest.mark.req("D14")
@pytest.mark.parametrize("workers", [1, 8])
def test_a_crawl_that_uses_its_budget_up_exactly_is_complete(
    web: Web, crawl: Crawl, workers: int
) -> None:
    crawled = crawl(*wide_web(web), workers=workers, max_pages=100)
    assert crawled.summary.ended_by == "complete"
    assert crawled.summary.snapshot.pages == 100


@pytest.mark.req("D14")
def test_what_yields_no_page_costs_no_page(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=[*(f"/missing{number}" for number in range(30)), "/one", "/two"])
    site.page("/one")
    site.page("/two")
    crawled = crawl("http://a.test/", max_pages=3, host_connections=8, workers=2)
    assert crawled.summary.ended_by == "complete"
    assert crawled.summary.snapshot.outcomes == {"fetched": 3, "not_found": 30}


@pytest.mark.req("D14", "B1")
def test_a_raised_budget_continues_where_the_crawl_was(web: Web, crawl: Crawl) -> None:
    seeds = wide_web(web)
    for max_pages in (13, 60, 1000):
        crawled = crawl(*seeds, workers=8, max_pages=max_pages)
    assert crawled.summary.ended_by == "complete"
    assert sorted(one.page_id or 0 for one in crawled.urls.values()) == list(range(1, 101))
    assert set(pages_asked(web).values()) == {1}
    assert crawled.summary.snapshot.bytes == 100 * BODY_BYTES


@pytest.mark.req("D14", "B1")
def test_raised_bytes_continue_too(web: Web, crawl: Crawl) -> None:
    seeds = wide_web(web, hosts=2)
    first = crawl(*seeds, max_bytes=5_000, max_page_bytes=BODY_BYTES)
    assert (first.summary.ended_by, first.summary.snapshot.bytes) == ("max-bytes", 5_000)
    same = crawl(*seeds, max_bytes=5_000, max_page_bytes=BODY_BYTES)
    assert (same.summary.ended_by, same.pages) == ("max-bytes", [])
    last = crawl(*seeds, max_bytes=1_000_000, max_page_bytes=BODY_BYTES)
    assert (last.summary.ended_by, last.summary.snapshot.bytes) == ("complete", 20_000)
    assert set(pages_asked(web).values()) == {1}


@pytest.mark.req("D14")
def test_waiting_for_a_budget_costs_no_time_of_the_processor(web: Web, tmp_path: Path) -> None:
    """Many hosts may be asked, one page may still be fetched, and that one takes its time."""
    seeds = wide_web(web)
    web.site("slow.test").reply("/", Reply(body="slow", delay_s=1.0))
    crawl = crawl_into(tmp_path, web, "http://slow.test/", *seeds, max_pages=1, scorer="fifo")
    before = time.process_time()
    crawled = asyncio.run(crawl)
    assert crawled.summary.snapshot.pages == 1
    assert time.process_time() - before < 0.5


@pytest.mark.req("D14")
def test_what_one_worker_returns_another_may_use(web: Web, crawl: Crawl) -> None:
    """One worker has set aside all of the budget and needs none of it; the other waits for that."""
    web.site("a.test").reply("/", Reply(status=404, delay_s=0.1))
    for name in ("b.test", "c.test"):
        web.site(name).reply("/", Reply(body=name, delay_s=0.05))
    seeds = [f"http://{name}/" for name in ("a.test", "b.test", "c.test")]
    crawled = crawl(*seeds, workers=3, connections=3, max_pages=1)
    assert crawled.summary.ended_by == "max-pages"
    assert crawled.summary.snapshot.pages == 1
