"""A crawl that was ended before its end goes on when it is run again."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled, crawl_into, read_urls

from gossamer import CrawlError, Page, UsageError
from gossamer.testing import Reply, Web, min_gap_s

Crawl = Callable[..., Crawled]

SEED = "http://a.test/"


def tree(web: Web, pages: int = 40) -> None:
    """Describe a site in which every page leads to two more."""
    site = web.site("a.test")
    for number in range(1, pages + 1):
        links = [f"/{child}" for child in (2 * number, 2 * number + 1) if child <= pages]
        body = "".join(f"<a href='{link}'>x</a>" for link in links) + str(number)
        site.reply("/" if number == 1 else f"/{number}", Reply(body=body, delay_s=0.002))


class StopAfter:
    """A module that ends the crawl on purpose when it sees a certain page."""

    def __init__(self, pages: int) -> None:
        self.left = pages

    def page(self, _page: Page) -> None:
        self.left -= 1
        if self.left < 0:
            raise CrawlError("the disk is full")


@pytest.mark.req("B1", "D12", "D16")
def test_a_module_that_ends_the_crawl_gets_the_page_again(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    tree(web, 6)
    with pytest.raises(CrawlError, match="the disk is full"):
        crawl(SEED, modules=[StopAfter(2)], delay="200ms")
    first = [record.path for record in web.requests]
    assert len(first) == 4, "robots.txt, two pages, and the one too many"
    assert sum(one.page_id is not None for one in read_urls(tmp_path / "crawl").values()) == 2
    crawled = crawl(SEED, delay="200ms")
    assert crawled.summary.ended_by == "complete"
    assert len(crawled.pages) == 4
    assert crawled.pages[0].url.endswith(first[-1])
    assert sorted(one.page_id or 0 for one in crawled.urls.values()) == list(range(1, 7))
    asked = Counter(record.path for record in web.requests)
    assert {path: count for path, count in asked.items() if count > 1} == {
        "/robots.txt": 2,
        first[-1]: 2,
    }
    gap = min_gap_s(web.requests)
    assert gap is not None
    assert gap >= 0.2, "also between the two runs"


@pytest.mark.req("B1", "B3", "D16")
def test_a_cancelled_crawl_goes_on_as_politely(web: Web, tmp_path: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/7", "/8"])
    site.page("/8")
    site.reply("/7", Reply(body="late", delay_s=30), Reply(body="7"))

    async def cancel_at_the_late_page() -> float:
        task = asyncio.create_task(crawl_into(tmp_path, web, SEED, delay="300ms", scorer="fifo"))
        await asyncio.to_thread(web.wait_for_requests, 3)
        task.cancel()
        cancelled_at = time.monotonic()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return cancelled_at

    cancelled_at = asyncio.run(cancel_at_the_late_page())
    (cut,) = [record for record in web.requests if record.path == "/7"]
    crawled = asyncio.run(crawl_into(tmp_path, web, SEED, delay="300ms", scorer="fifo"))
    assert crawled.summary.ended_by == "complete"
    after = [record for record in web.requests if record.started > cut.started]
    # Our own moment: the server may learn much later than we that we have hung up.
    assert min(record.started for record in after) - cancelled_at >= 0.3


@pytest.mark.req("D16", "D1")
def test_the_number_of_workers_may_change(web: Web, crawl: Crawl) -> None:
    tree(web, 60)
    for workers, budget in ((1, 10), (8, 30), (3, 1000)):
        crawled = crawl(SEED, workers=workers, max_pages=budget)
    assert crawled.summary.ended_by == "complete"
    assert sorted(one.page_id or 0 for one in crawled.urls.values()) == list(range(1, 61))
    pages = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert set(pages.values()) == {1}


@pytest.mark.req("B1")
def test_a_finished_crawl_is_left_alone(web: Web, crawl: Crawl) -> None:
    tree(web, 5)
    first = crawl(SEED)
    web.clear_requests()
    again = crawl(SEED)
    assert web.requests == []
    assert again.summary.ended_by == "complete"
    assert again.summary.snapshot.pages == first.summary.snapshot.pages == 5


def test_starting_over_is_explicit(web: Web, crawl: Crawl) -> None:
    tree(web, 5)
    crawl(SEED)
    again = crawl(SEED, fresh=True)
    assert len(again.pages) == 5
    assert len(web.requests) == 12


@pytest.mark.req("B1", "D12")
def test_a_crawl_whose_module_could_not_open_has_not_begun(web: Web, crawl: Crawl) -> None:
    class Closed:
        def open(self, _context: object) -> None:
            raise OSError("no room")

    tree(web, 5)
    with pytest.raises(CrawlError, match="no room"):
        crawl(SEED, modules=[Closed()])
    assert web.requests == []
    assert len(crawl(SEED).pages) == 5


@pytest.mark.parametrize(
    "changed", [{"depth": 1}, {"scope": "domain"}, {"exclude": ["x"]}, {"markers": "<!-- C -->"}]
)
def test_what_makes_a_crawl_cannot_change_on_the_way(
    web: Web, crawl: Crawl, changed: dict[str, object]
) -> None:
    tree(web, 5)
    crawl(SEED, max_pages=2)
    with pytest.raises(UsageError, match=f"different {next(iter(changed))}"):
        crawl(SEED, **changed)
    with pytest.raises(UsageError, match="different seeds"):
        crawl("http://a.test/2")


def test_two_crawls_do_not_share_a_directory(web: Web, tmp_path: Path) -> None:
    tree(web)

    async def both() -> None:
        first = asyncio.create_task(crawl_into(tmp_path, web, SEED))
        await asyncio.sleep(0)
        with pytest.raises(CrawlError, match="another process is crawling"):
            await crawl_into(tmp_path, web, SEED)
        crawled = await first
        assert len(crawled.pages) == 40

    asyncio.run(both())
