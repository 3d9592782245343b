"""Hosts that ask for patience, are slow or fail: left alone for longer, and given up in the end."""

import asyncio
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path

import pytest
from crawled import Crawled

from gossamer import Event, Outcome, Snapshot, Summary
from gossamer.config import load
from gossamer.coordinator.crawl import Crawl as OneCrawl
from gossamer.coordinator.plan import Plan
from gossamer.model import HostKey, Level
from gossamer.stores.crawl_views import HostView, WorkerView
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.rows import HostRow
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.testing import KeepOpen, Raw, Reply, Web

Crawl = Callable[..., Crawled]

NOW_S = 1_800_000_000
"""The server's idea of the time, which is not ours."""


def date(seconds: float) -> str:
    return formatdate(NOW_S + seconds, usegmt=True)


def later(status: int, retry_after: str | None) -> Reply:
    """Return an answer that asks to come again."""
    headers = [("Date", date(0))]
    if retry_after is not None:
        headers.append(("Retry-After", retry_after))
    return Reply(status=status, headers=headers)


@pytest.mark.req("B3")
@pytest.mark.parametrize(
    ("status", "retry_after", "least_s", "most_s"),
    [
        (429, "1", 1.0, 3.0),
        (503, "1", 1.0, 3.0),
        (429, date(1), 1.0, 3.0),
        (503, date(1), 1.0, 3.0),
        (503, date(-5), 0.5, 3.0),
        (429, "soon", 0.5, 3.0),
        (503, "soon", 0.5, 3.0),
        (429, None, 0.5, 3.0),
        (503, None, 0.0, 0.5),  # one broken page as likely as a busy server
    ],
)
def test_a_host_that_asks_for_time_gets_it(
    web: Web, crawl: Crawl, status: int, retry_after: str | None, least_s: float, most_s: float
) -> None:
    """All of the host waits, and the page comes in the end."""
    site = web.site("a.test")
    site.page("/", links=["/busy", "/other"])
    site.reply("/busy", later(status, retry_after), Reply(body="busy"))
    site.page("/other")
    crawled = crawl("http://a.test/", scorer="fifo", workers=2)
    assert crawled.summary.snapshot.outcomes == {"fetched": 3}
    _, _, busy, *after = web.requests
    assert busy.path == "/busy"
    assert least_s <= after[0].started - busy.ended < most_s


class Stopper:
    """Ends a crawl as soon as an attempt has failed."""

    wants_events = True

    def __init__(self) -> None:
        self.crawl: OneCrawl | None = None
        self.events: list[Event] = []

    def event(self, event: Event) -> None:
        if event.outcome is not None and self.crawl is not None:
            self.events.append(event)
            self.crawl.stop()

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        pass

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        pass

    def close(self, summary: Summary) -> None:
        pass


def host_of(directory: Path) -> HostRow | None:
    """Return what the store keeps of the host a.test."""
    rows = SqliteRows(CrawlDirectory(directory).database)
    try:
        return next((host for host in rows.hosts() if host.key == HostKey("a.test")), None)
    finally:
        rows.close()


@pytest.mark.req("B3")
@pytest.mark.parametrize(
    ("retry_after", "pause_after_request_s"),
    [("7", 7), ("315360000", 3600), ("9" * 400, 3600), (date(315_360_000), 3600)],
    ids=["seconds", "ten years", "for ever", "date in ten years"],
)
def test_a_host_that_asks_for_years_gets_an_hour(
    web: Web, tmp_path: Path, retry_after: str, pause_after_request_s: float
) -> None:
    site = web.site("a.test")
    site.reply("/", later(503, retry_after))
    options = {
        "seeds": ("http://a.test/",),
        "dir": tmp_path,
        "delay": "0s",
        "allow_network": ("127.0.0.1",),
    }
    stopper = Stopper()
    stopper.crawl = OneCrawl(Plan(load(options, {}).options), [], stopper, dns=web.dns)
    summary = asyncio.run(stopper.crawl.run())
    assert summary.ended_by == "interrupted"
    assert stopper.events[0].outcome is Outcome.SERVER_ERROR
    assert stopper.events[0].detail.endswith("to be tried again")
    host = host_of(tmp_path)
    assert host is not None
    assert pause_after_request_s - 5 < host.next_start - time.time() <= pause_after_request_s


@pytest.mark.req("B3", "D19")
def test_a_host_that_keeps_failing_is_left_alone_for_longer_each_time_and_given_up(
    web: Web, crawl: Crawl
) -> None:
    site = web.site("a.test")
    paths = [f"/{number}" for number in range(20)]
    site.page("/", links=paths)
    for path in paths:
        site.raw(path, KeepOpen())
    web.site("b.test").page("/")
    crawled = crawl("http://a.test/", "http://b.test/", timeout="400ms")
    assert crawled.summary.snapshot.outcomes["fetched"] == 2
    assert crawled.summary.snapshot.outcomes["gave_up"] >= 17
    failed = [one for one in web.requests_to("a.test") if one.path not in {"/", "/robots.txt"}]
    gaps = [later.started - earlier.ended for earlier, later in pairwise(failed)]
    assert len(failed) == 4
    for gap, least_s in zip(gaps, (0.5, 1.0, 2.0), strict=True):
        assert least_s * 0.98 <= gap < least_s + 2


@pytest.mark.req("D19")
def test_a_host_that_recovers_is_asked_as_before(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/bad", "/1", "/2", "/3"])
    site.reply("/bad", Raw([KeepOpen()]), Reply(body="bad"))
    for number in (1, 2, 3):
        site.page(f"/{number}")
    crawled = crawl("http://a.test/", timeout="400ms", scorer="fifo")
    assert crawled.summary.snapshot.outcomes == {"fetched": 5}
    _, _, bad, *rest = web.requests
    assert rest[0].started - bad.ended >= 0.49
    gaps = [later.started - earlier.ended for earlier, later in pairwise(rest)]
    assert min(gaps) < 0.49, "the pauses are over"


@pytest.mark.req("D19")
def test_one_blow_to_many_requests_at_once_is_one_failure(web: Web, crawl: Crawl) -> None:
    """A server that is restarted breaks all that is on its way: no reason to give the site up."""
    site = web.site("a.test")
    paths = [f"/{number}" for number in range(40)]
    site.page("/", links=paths)
    for path in paths[:8]:
        site.reply(path, Reply(status=429, delay_s=0.05), Reply(body=path))
    for path in paths[8:]:
        site.page(path)
    crawled = crawl("http://a.test/", host_connections=8, scorer="fifo")
    assert crawled.summary.snapshot.outcomes == {"fetched": 41}
    failed, after = web.requests[2:10], web.requests[10:]
    assert {one.path for one in failed} == set(paths[:8])
    pause_after_request_s = min(one.started for one in after) - max(one.ended for one in failed)
    assert 0.5 <= pause_after_request_s < 5, "eight failures in a row are worth a minute"


@pytest.mark.req("D19", "F4")
def test_so_is_a_robots_txt_that_cannot_be_had_for_now(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    seeds = [f"/{number}" for number in range(10)]
    for path in seeds:
        site.page(path)
    later_on = Reply(status=503, headers={"Retry-After": "1"}, delay_s=0.05)
    site.reply("/robots.txt", later_on, Reply(body=""))
    crawled = crawl(*[f"http://a.test{path}" for path in seeds], host_connections=8)
    assert crawled.summary.snapshot.outcomes == {"fetched": 10}
