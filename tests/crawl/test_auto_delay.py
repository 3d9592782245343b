"""`--delay auto` against a server that is the slower the more often it is asked."""

import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from crawled import Crawled

from gossamer.testing import Reply, Web

Crawl = Callable[..., Crawled]

PAGES = 30
FLOOR_S = 0.01
LATENCY_S = 0.02
"""How long an answer takes for each request of the last second."""
SETTLED_S = 0.35
"""Five times the latency, and the latency itself: with n requests a second that is 0.12 n seconds
from one to the next, so n settles at 2.9."""


class BusyServer:
    """Answers with a page of links, after a time that grows with the load."""

    def __init__(self) -> None:
        self.asked_at: list[float] = []

    def answer(self, target: str) -> Reply:
        now = time.monotonic()
        self.asked_at.append(now)
        load = sum(now - moment < 1.0 for moment in self.asked_at)
        links = "".join(f"<a href='/{number}'>x</a>" for number in range(PAGES))
        return Reply(body=f"{target} {links}", delay_s=LATENCY_S * load)


@pytest.mark.req("B3")
def test_the_rate_settles_where_the_server_keeps_up(web: Web, crawl: Crawl) -> None:
    server = BusyServer()
    web.site("a.test").under("/", server.answer)
    web.site("a.test").status("/robots.txt", 404)
    crawl("http://a.test/", delay=f"auto:{FLOOR_S * 1000:.0f}ms", similarity="off", max_pages=PAGES)
    gaps = [after - before for before, after in pairwise(server.asked_at)]
    settled = gaps[-10:]
    # A busy machine answers late, which makes the pause longer and never shorter.
    assert 0.7 * SETTLED_S < sum(settled) / len(settled) < 2 * SETTLED_S
    assert min(settled) > 10 * FLOOR_S, "it would bear no more"


@pytest.mark.req("B3")
def test_a_quick_server_gets_the_floor(web: Web, crawl: Crawl) -> None:
    names = [f"/{number}" for number in range(16)]
    web.site("a.test").page("/", names)
    for name in names:
        web.site("a.test").page(name)
    crawl("http://a.test/", delay="auto:200ms", similarity="off")
    starts = [record.started for record in web.requests]
    gaps = [after - before for before, after in pairwise(starts)]
    assert min(gaps) >= 0.2
    assert gaps[-1] < 0.4, "it began with a second"
