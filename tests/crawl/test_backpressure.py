"""Full queues hold nothing up and lose nothing, where a naive design would stand still."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled
from tests.unit.views.reading import in_directory, status

from gossamer.testing import Reply, Web, most_at_once, traffic_of

Crawl = Callable[..., Crawled]

HOSTS = 6
PAGES = 25


def crowded_web(web: Web, slow_s: float) -> list[str]:
    """Describe hosts whose every page links to every page of all of them; the first is slow."""
    urls = [f"http://h{host}.test/{page}" for host in range(HOSTS) for page in range(PAGES)]
    links = "".join(f"<a href='{url}'>x</a>" for url in urls)
    for number, url in enumerate(urls):
        _, _, name, path = url.split("/")
        delay_s = slow_s if name == "h0.test" else 0.0
        web.site(name).reply(f"/{path}", Reply(body=f"{links}{number}", delay_s=delay_s))
    return urls


@pytest.mark.req("D2", "D7")
@pytest.mark.parametrize("workers", [1, 3, 8])
@pytest.mark.parametrize(("worker_queue", "url_queue"), [(1, 1), (2, 3), (10_000, 1)])
def test_tiny_queues_pages_full_of_links_and_a_slow_host(
    web: Web, crawl: Crawl, workers: int, worker_queue: int, url_queue: int
) -> None:
    urls = crowded_web(web, slow_s=0.01)
    crawled = crawl(
        urls[0],
        scope="any",
        workers=workers,
        worker_queue=worker_queue,
        url_queue=url_queue,
        connections=8,
    )
    assert crawled.summary.ended_by == "complete"
    assert set(crawled.depths()) == set(urls)
    traffic = traffic_of(web.requests, time.monotonic())
    assert traffic.repeated == {}
    assert traffic.requests == len(urls) + HOSTS
    assert traffic.most_at_once == 1


@pytest.mark.req("D7")
def test_the_backlog_of_a_slow_host_leaves_room_for_others(web: Web, crawl: Crawl) -> None:
    """All URLs of the slow host are known first, and there are more than the queue takes."""
    slow = web.site("slow.test")
    paths = [f"/{number}" for number in range(40)]
    slow.page("/", links=[*paths, "http://fast.test/"])
    for path in paths:
        slow.reply(path, Reply(body=path, delay_s=0.02))
    fast = web.site("fast.test")
    fast.page("/", links=[f"/{number}" for number in range(10)])
    for number in range(10):
        fast.page(f"/{number}")
    crawled = crawl("http://slow.test/", scope="any", worker_queue=4, scorer="fifo")
    assert crawled.summary.snapshot.pages == 52
    slow_ends = sorted(one.ended for one in web.requests_to("slow.test"))
    assert max(one.ended for one in web.requests_to("fast.test")) < slow_ends[-10]


@pytest.mark.req("D7")
def test_a_page_with_more_links_than_any_queue_holds(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    paths = [f"/{number}" for number in range(3000)]
    site.page("/", links=paths)
    site.under("/", lambda target: Reply(body=target))
    crawled = crawl(
        "http://a.test/", worker_queue=10, url_queue=10, host_connections=8, max_pages=5000
    )
    assert crawled.summary.ended_by == "complete"
    assert crawled.summary.snapshot.pages == 3001


SLOW_SCORER = """\
import time

class Slow:
    def score(self, candidates):
        time.sleep(0.02)
        {}
"""


@pytest.mark.req("D2", "D7")
@pytest.mark.parametrize(
    ("workers", "answer"), [(1, "raise ValueError"), (2, "return [1.0 for _ in candidates]")]
)
def test_while_the_url_queue_is_full_no_page_is_begun(
    web: Web, crawl: Crawl, tmp_path: Path, workers: int, answer: str
) -> None:
    """However slow the scorer is, or broken: only the links of pages under way come on top."""
    (tmp_path / "slow.py").write_text(SLOW_SCORER.format(answer))
    site = web.site("a.test")
    site.page("/", links=[f"/{number}" for number in range(12)])
    for number in range(12):
        site.page(f"/{number}", links=[f"/{number}/{child}" for child in range(20)])
    site.under("/", lambda target: Reply(body=target))
    crawled = crawl(
        "http://a.test/",
        scorer=f"{tmp_path / 'slow.py'}:Slow",
        url_queue=10,
        workers=workers,
        connections=2,
        host_connections=2,
    )
    assert crawled.summary.ended_by == "complete"
    assert crawled.summary.snapshot.pages == 1 + 12 + 12 * 20
    found = status(in_directory(tmp_path / "crawl"))
    assert 20 <= found.url_queue_peak < 10 + 2 * 20
    assert found.url_queue == 10


@pytest.mark.req("D7", "B3")
def test_the_backlogs_of_a_few_hosts_leave_room_for_many(web: Web, crawl: Crawl) -> None:
    names = [f"h{number}.test" for number in range(12)]
    urls = [f"http://{name}/{page}" for page in range(6) for name in names]
    for url in urls:
        _, _, name, page = url.split("/")
        web.site(name).reply(f"/{page}", Reply(body=url, delay_s=0.3))
    crawled = crawl(*urls, worker_queue=24)
    assert crawled.summary.snapshot.pages == len(urls)
    assert most_at_once(web.requests) == len(names)
