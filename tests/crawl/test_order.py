"""The order of the requests, by the server's log, where the scorer promises one."""

import heapq
import random
from collections import deque
from collections.abc import Callable

import pytest
from crawled import Crawled

from gossamer.testing import Web

Crawl = Callable[..., Crawled]


def numbered_site(web: Web, seed: int) -> dict[str, list[str]]:
    """Describe pages with numbers in their names, linked at random, and return their links."""
    draw = random.Random(seed)  # noqa: S311 -- nothing here is secret
    numbers = draw.sample(range(1, 10_000), 60)
    paths = ["/", *(f"/page{number}.html" for number in numbers)]
    links = {path: draw.sample(paths, 4) for path in paths}
    for path, targets in links.items():
        web.site("a.test").page(path, links=targets)
    return links


def asked(web: Web) -> list[str]:
    return [record.path for record in web.requests if record.path != "/robots.txt"]


@pytest.mark.req("F1", "F3", "F8")
@pytest.mark.parametrize("seed", range(5))
def test_larger_page_numbers_first_strictly(web: Web, crawl: Crawl, seed: int) -> None:
    links = numbered_site(web, seed)
    crawled = crawl("http://a.test/", workers=1, connections=1, scorer="page-number")
    expected, seen, frontier = [], {"/"}, [(0, "/")]
    while frontier:
        _, path = heapq.heappop(frontier)
        expected.append(path)
        for link in dict.fromkeys(links[path]):
            if link not in seen:
                seen.add(link)
                heapq.heappush(frontier, (-int(link.removeprefix("/page")[:-5]), link))
    assert asked(web) == expected
    assert {str(one.outcome) for one in crawled.urls.values()} == {"fetched"}, "seen = visited"


@pytest.mark.req("F1")
def test_a_better_page_that_turns_up_goes_before_those_that_wait_for_the_pause(
    web: Web, crawl: Crawl
) -> None:
    """The queue of the worker is no shortcut: what is in it may still be overtaken."""
    site = web.site("a.test")
    site.page("/", links=["/p1", "/p2", "/p9"])
    site.page("/p9", links=["/p5", "/p3"])
    site.page("/p5", links=["/p8"])
    for path in ("/p1", "/p2", "/p3", "/p8"):
        site.page(path)
    crawl("http://a.test/", scorer="page-number", delay="20ms", workers=2, connections=20)
    assert asked(web) == ["/", "/p9", "/p5", "/p8", "/p3", "/p2", "/p1"]


@pytest.mark.req("D3")
@pytest.mark.parametrize("seed", range(3))
def test_nearest_first(web: Web, crawl: Crawl, seed: int) -> None:
    links = numbered_site(web, seed)
    crawled = crawl("http://a.test/", workers=1, connections=1, scorer="depth")
    depths = {"/": 0}
    line = deque(["/"])
    while line:
        path = line.popleft()
        for link in links[path]:
            if link not in depths:
                depths[link] = depths[path] + 1
                line.append(link)
    order = [depths[path] for path in asked(web)]
    assert order == sorted(order)
    assert crawled.depths() == {f"http://a.test{path}": depth for path, depth in depths.items()}
