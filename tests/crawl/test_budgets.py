"""Budgets are exact: never exceeded, used up, named in the summary, and to be raised later."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled, crawl_into

from gossamer.display.summary import summary_text
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


def bodies_sent(web: Web, sizes: dict[str, int]) -> int:
    """Return how many bytes of bodies the server has sent, if all were read to their end."""
    return sum(sizes.get(one.path, len("Not found.\n")) for one in web.requests)


@pytest.mark.req("D14")
@pytest.mark.parametrize("workers", [1, 8])
def test_the_bytes_are_used_up_and_never_exceeded(web: Web, crawl: Crawl, workers: int) -> None:
    crawled = crawl(*wide_web(web), workers=workers, max_bytes=25_500, max_page_bytes=BODY_BYTES)
    snapshot = crawled.summary.snapshot
    assert crawled.summary.ended_by == "max-bytes"
    sizes = {f"/{page}": BODY_BYTES for page in range(10)}
    not_begun = BODY_BYTES  # the last one did not fit, which its header says
    assert snapshot.received == bodies_sent(web, sizes) - not_begun
    assert 25_500 - BODY_BYTES < snapshot.received <= 25_500
    assert pages_asked(web).total() == snapshot.pages + 1


@pytest.mark.req("D14")
def test_a_budget_smaller_than_the_largest_page_is_used_up(web: Web, crawl: Crawl) -> None:
    """24 kB a page, and one page might take half of the budget, but does not."""
    site = web.site("a.test")
    for page in range(60):
        links = "".join(f"<a href='/{other}'>x</a>" for other in range(60))
        site.reply(f"/{page}", Reply(body=f"{links}{page}".ljust(24_000)))
    crawled = crawl(
        "http://a.test/0", workers=4, host_connections=4, max_bytes="1MB", max_page_bytes="500kB"
    )
    snapshot = crawled.summary.snapshot
    assert crawled.summary.ended_by == "max-bytes"
    assert 970_000 < snapshot.received <= 1_000_000
    assert snapshot.pages == 41


def mixed_web(web: Web) -> dict[str, int]:
    """Describe a host on which little comes to anything; return the size of each answer."""
    site, sizes = web.site("a.test"), {"/robots.txt": 5_000}
    site.reply("/robots.txt", Reply(body=b"#" * 5_000, headers={"Content-Type": "text/plain"}))
    large = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"x" * 40_000
    for number in range(60):
        replies = {
            "missing": Reply(status=404, body=b"x" * 20_000),
            "broken": Reply(status=500, body=b"x" * 3_000),
            "moved": Reply(status=302, body=b"x" * 9_000, headers={"Location": f"/to{number}"}),
            "same": Reply(body=b"<p>Everywhere the same</p>".ljust(12_000)),
            "binary": Reply(body=bytes(range(256)) * 40),
        }
        for kind, reply in replies.items():
            site.reply(f"/{kind}{number}", reply)
            sizes[f"/{kind}{number}"] = len(reply.body)
        site.raw(f"/large{number}", large)
        sizes[f"/large{number}"] = 30_000  # at least: it is broken off there
    home = "".join(f"<a href='{path}'>x</a>" for path in [*sizes, "/large0"])
    site.reply("/", Reply(body=home))
    return {**sizes, "/": len(home)}


@pytest.mark.req("D14")
@pytest.mark.parametrize("workers", [1, 3])
def test_whatever_is_received_counts(web: Web, crawl: Crawl, workers: int) -> None:
    """Kept, broken off, repeated, failed, redirects and robots.txt: 4.6 MB, under 1 MB."""
    sizes = mixed_web(web)
    crawled = crawl(
        "http://a.test/",
        workers=workers,
        host_connections=4,
        max_bytes="1MB",
        max_page_bytes=30_000,
        similarity=1.0,
        scorer="fifo",
    )
    snapshot = crawled.summary.snapshot
    assert crawled.summary.ended_by == "max-bytes"
    assert 950_000 < snapshot.received <= 1_000_000
    at_most_one_not_begun = max(sizes.values())
    assert bodies_sent(web, sizes) - at_most_one_not_begun <= snapshot.received
    assert {"not_found", "too_large", "redirected", "duplicate"} <= set(snapshot.outcomes)


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
def test_a_robots_txt_that_does_not_fit_ends_the_crawl_and_loses_nothing(
    web: Web, crawl: Crawl
) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /no\n".ljust(3_000))
    site.page("/", links=["/no"])
    first = crawl("http://a.test/", max_bytes=2_000)
    snapshot = first.summary.snapshot
    assert (first.summary.ended_by, snapshot.waiting, snapshot.received) == ("max-bytes", 1, 0)
    assert [one.path for one in web.requests] == ["/robots.txt"], "nor is it asked for again"
    second = crawl("http://a.test/", max_bytes="1MB")
    assert second.summary.ended_by == "complete"
    assert second.summary.snapshot.outcomes == {"fetched": 1, "robots_denied": 1}


@pytest.mark.req("D14", "B1")
def test_raised_bytes_continue_too(web: Web, crawl: Crawl) -> None:
    seeds = wide_web(web, hosts=2)
    first = crawl(*seeds, max_bytes=5_000, max_page_bytes=BODY_BYTES)
    assert (first.summary.ended_by, len(first.pages)) == ("max-bytes", 4)
    asked = len(web.requests)
    same = crawl(*seeds, max_bytes=5_000, max_page_bytes=BODY_BYTES)
    assert (same.summary.ended_by, same.pages, len(web.requests)) == ("max-bytes", [], asked)
    last = crawl(*seeds, max_bytes=1_000_000, max_page_bytes=BODY_BYTES)
    assert (last.summary.ended_by, last.summary.snapshot.bytes) == ("complete", 20_000)
    assert sorted(pages_asked(web).values()) == [1] * 19 + [2], "one was broken off"


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


@pytest.mark.req("D14", "D19")
def test_finding_11_the_time_ends_a_crawl_in_order_and_it_goes_on(web: Web, crawl: Crawl) -> None:
    links = "".join(f"<a href='/{number}'>x</a>" for number in range(5))
    web.site("a.test").reply("/", Reply(body=links))
    for number in range(5):
        web.site("a.test").reply(f"/{number}", Reply(body=f"{number}"))
    crawled = crawl("http://a.test/", max_time="1s", delay="3s", workers=1)
    summary = crawled.summary
    assert (summary.ended_by, int(summary.exit_code)) == ("max-time", 0)
    assert (summary.snapshot.in_progress, summary.snapshot.waiting) == (0, 1), "it rests"
    assert "the time limit (--max-time) was reached; 1 URL waiting" in summary_text(summary)
    assert summary.continue_with is not None
    again = crawl("http://a.test/", max_time="1h", delay="0s")
    assert (again.summary.ended_by, again.summary.snapshot.pages) == ("complete", 6)
