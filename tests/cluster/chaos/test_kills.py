"""kill -9 of any process of a shared crawl: the crawl comes to the same end."""

import os
import random
import re
import signal
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from process_tree import descendants, is_alive, kill_all, workers_of
from redis_servers import wait_until
from tests.cluster.small_web import HOSTS

if TYPE_CHECKING:
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl


LONG_LEASE_S = 30.0
"""Longer than the crawl takes with all that happens to it."""


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.req("B1", "B3", "B9", "D16")
def test_workers_that_are_killed_at_random_moments(
    chaos_seed: int, crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """What they had is taken over at once: nobody waits for the end of their leases."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    run = crawl.crawl(workers=3, lease_s=LONG_LEASE_S)
    asked = 0
    for _ in range(4):
        asked += rng.randint(4, 20)
        crawl.await_requests(asked)
        time.sleep(rng.uniform(0, 0.1))
        kill(rng.choice(crawl.await_workers(1)))
        if rng.random() < 0.5:
            crawl.verify()
    said = run.succeed()
    for host in HOSTS:
        starts = sorted(record.started for record in crawl.web.requests_to(host))
        assert max(later - before for before, later in pairwise(starts)) < LONG_LEASE_S / 3
    # Whoever is killed when the crawl is just over is not missed any more.
    died = re.findall(r"worker (\d+) died \(signal 9\) and is replaced", said)
    assert len(died) >= 3
    assert {*map(int, died)} <= {0, 1, 2}, "whoever replaces one has its number"
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "B9", "D16")
def test_a_worker_that_joined_is_replaced_by_the_command_that_joined(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """Its URLs are taken over at once as well; and that command dies with all that it started."""
    run = crawl.crawl(workers=1, lease_s=LONG_LEASE_S)
    joined, leaving = crawl.worker(), crawl.worker()
    begun = time.monotonic()
    crawl.await_requests(12)
    wait_until(lambda: bool(workers_of(joined.pid)))
    kill(workers_of(joined.pid)[0])
    crawl.await_words(joined, "died (signal 9) and is replaced")
    left = descendants(leaving.pid)
    leaving.signal(signal.SIGTERM)
    assert leaving.end() == 0
    assert not [pid for pid in left if is_alive(pid)]
    assert "the crawl is over" in joined.succeed()
    run.succeed()
    assert time.monotonic() - begun < LONG_LEASE_S
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "B9", "D16")
def test_all_processes_are_killed_and_the_same_command_continues(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl()
    crawl.await_requests(25)
    kill_all(crawl.processes())
    assert run.end() == -signal.SIGKILL
    crawl.verify()
    crawl.crawl().succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "B9", "D16")
def test_the_command_itself_is_killed_and_its_processes_do_not_go_on_without_it(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl()
    crawl.await_requests(20)
    kill(run.pid)
    run.end()
    crawl.await_gone(2.0)
    assert len(crawl.web.requests) < 60
    crawl.verify()
    assert "finished: no URLs left" in crawl.crawl().succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1")
def test_a_page_that_kills_whoever_has_it_is_given_up(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """Three workers die of it, and then nobody tries again."""
    poison = f"{crawl.folder}/poison.py:Poison"
    with open(f"{crawl.folder}/poison.py", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(
            "import os, signal\n"
            "class Poison:\n"
            "    def page(self, page):\n"
            "        if page.url.endswith('/leaf/3') and 'b.localhost' in page.url:\n"
            "            os.kill(os.getpid(), signal.SIGKILL)\n"
        )
    said = crawl.crawl("--module", poison).succeed()
    assert said.count("died (signal 9) and is replaced") == 3
    (poisoned,) = [row for row in expected.urls if row[0] == "http://b.localhost/leaf/3"]
    result = crawl.result()
    assert result.urls == [
        (poisoned[0], "gave_up", poisoned[2]) if row == poisoned else row for row in expected.urls
    ]
    assert result.files == [row for row in expected.files if row[0] != poisoned[0]]
    url = f"http://b.localhost:{crawl.web.address[1]}/leaf/3"
    assert "it crashed three workers" in crawl.ask("explain", url).succeed()
    crawl.assert_polite()
    crawl.verify()
