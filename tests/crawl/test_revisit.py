"""A URL that is found again is fetched again after its time; contents expire after theirs."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from crawled import read_urls
from tests.unit.views.reading import explained, in_directory

from gossamer import Page
from gossamer.cli.explain import explanation_lines
from gossamer.config import load
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.observer import Silence
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.summary import Summary
from gossamer.modules.contract import Module
from gossamer.testing import Web

HOUR_S = 3600.0


class ForwardClock:
    """A clock that can be set forward."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


class Waiter:
    """A module before whose eyes some pages take a long time."""

    def __init__(self, clock: ForwardClock, slow: dict[str, float]) -> None:
        self._clock = clock
        self._slow = slow
        self.pages: list[Page] = []

    def page(self, page: Page) -> None:
        self.pages.append(page)
        path = "/" + page.url.split("/", 3)[3]
        self._clock.ahead_s += self._slow.pop(path, 0.0)


def crawl(web: Web, tmp_path: Path, slow: dict[str, float], **options: object) -> Summary:
    """Crawl one page after the other, in the order in which they were found."""
    clock = ForwardClock()
    waiter = Waiter(clock, slow)
    given = {
        "seeds": ("http://a.test/",),
        "dir": tmp_path / "crawl",
        "delay": "0s",
        "scorer": "fifo",
        "allow_network": ("127.0.0.1",),
        "queues": 1,
        **options,
    }
    module = Module(name="waiter", page=waiter.page, on_loop=True)
    plan = Plan(load(given, {}).options)
    return asyncio.run(
        Crawl(plan, [module], Silence(), launcher=None, dns=web.dns, clock=clock).run()
    )


def asked(web: Web) -> dict[str, int]:
    return dict(Counter(one.path for one in web.requests if one.path != "/robots.txt"))


@pytest.mark.req("D10", "D11")
@pytest.mark.parametrize(
    ("later_s", "visits"), [(HOUR_S - 10, 1), (HOUR_S + 10, 2)], ids=["before", "after"]
)
def test_a_link_that_is_found_again_after_its_time_is_visited_again(
    web: Web, tmp_path: Path, later_s: float, visits: int
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/last"])
    site.page("/one")
    site.page("/last", links=["/one", "/"])
    summary = crawl(web, tmp_path, {"/last": later_s}, revisit="1h")
    assert summary.ended_by == "complete"
    assert asked(web) == {"/": visits, "/one": visits, "/last": 1}
    assert (summary.snapshot.pages, summary.snapshot.visits) == (3, 1 + 2 * visits)
    assert summary.snapshot.outcomes == {"fetched": 3}, "of each URL its last"
    assert summary.snapshot.finished == 3
    assert summary.snapshot.waiting == 0
    assert {one.outcome for one in read_urls(tmp_path / "crawl").values()} == {"fetched"}
    found = explained(in_directory(tmp_path / "crawl"), "http://a.test/")
    assert (", 2 visits" in "\n".join(explanation_lines(found))) == (visits == 2)
    often = msgspec.structs.replace(found, state="waiting", attempts=found.attempts[:1] * 1012)
    told = "\n".join(explanation_lines(often))
    assert "waiting to be visited again" in told
    assert told.count("fetched") == 12
    assert "… 1,000 earlier …" in told


@pytest.mark.req("D11")
def test_by_default_no_page_is_fetched_twice_however_long_it_takes(
    web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/last"])
    site.page("/one")
    site.page("/last", links=["/one", "/"])
    summary = crawl(web, tmp_path, {"/last": 10_000 * HOUR_S})
    assert summary.ended_by == "complete"
    assert asked(web) == {"/": 1, "/one": 1, "/last": 1}


@pytest.mark.req("D11")
def test_a_forgotten_link_on_many_pages_is_visited_again_once(web: Web, tmp_path: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", *(f"/p{number}" for number in range(20))])
    site.page("/one")
    for number in range(20):
        site.page(f"/p{number}", links=["/one"])
    summary = crawl(web, tmp_path, {"/p0": HOUR_S + 10}, host_connections=4, revisit="1h")
    assert summary.ended_by == "complete"
    assert asked(web)["/one"] == 2
    assert (summary.snapshot.finished, summary.snapshot.waiting) == (22, 0)


@pytest.mark.req("D11")
def test_a_page_beyond_the_depth_is_not_revived(web: Web, tmp_path: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/1"])
    site.page("/1", links=["/2"])
    site.page("/2", links=["/"])
    summary = crawl(web, tmp_path, {"/1": 2 * HOUR_S}, depth=1, revisit="1h")
    assert summary.ended_by == "complete"
    assert asked(web) == {"/": 1, "/1": 1}


@pytest.mark.req("D9", "D10")
@pytest.mark.parametrize(
    ("later_s", "kept"), [(HOUR_S - 10, 2), (HOUR_S + 10, 3)], ids=["before", "after"]
)
def test_the_same_content_is_a_duplicate_only_for_its_time(
    web: Web, tmp_path: Path, later_s: float, kept: int
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/two"])
    site.page("/one", html="<p>the same</p>")
    site.page("/two", html="<p>the same</p>")
    summary = crawl(web, tmp_path, {"/one": later_s}, keep="1h")
    assert summary.snapshot.pages == kept
    assert summary.snapshot.outcomes.get("duplicate", 0) == 3 - kept
