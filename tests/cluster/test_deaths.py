"""A command that has joined a crawl is killed with what it has started: who goes on, and when."""

import os
import signal
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from process_tree import children, descendants, kill_all, workers_of
from redis_servers import wait_until
from tests.cluster.small_web import HOSTS

if TYPE_CHECKING:
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl

LONG_LEASE_S = 60.0
"""So long that the crawl would not end if anybody waited for a lease to run out."""
DELAY_S = 0.3
COSTS_S = 2.0
"""How long the hosts of the dead may be left alone, beside their usual pause."""
BUSY_S = 1.0
"""What a machine where others are at work may add."""


def longest_gap_s(crawl: "ProcessCrawl", host: str) -> float:
    """Return for how long a host was left alone at most."""
    starts = sorted(record.started for record in crawl.web.requests_to(host))
    return max(later - before for before, later in pairwise(starts))


def the_command(pid: int) -> list[int]:
    return [pid]


def the_command_and_its_launcher(pid: int) -> list[int]:
    return [pid, *children(pid)]


def all_of_it(pid: int) -> list[int]:
    return [pid, *descendants(pid)]


@pytest.mark.req("B1", "B3", "D16")
@pytest.mark.parametrize("killed", [the_command, the_command_and_its_launcher, all_of_it])
def test_others_go_on_with_its_hosts_at_once_and_the_next_has_its_number(
    killed: Callable[[int], list[int]], crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl(workers=1, delay_s=DELAY_S, lease_s=LONG_LEASE_S)
    dying = crawl.worker()
    crawl.await_words(dying, "worker 1 joins")
    wait_until(lambda: bool(workers_of(dying.pid)))
    crawl.await_requests(len(crawl.web.requests) + 8)
    kill_all(killed(dying.pid))
    assert dying.end() == -signal.SIGKILL
    crawl.await_requests(len(crawl.web.requests) + 8)
    crawl.await_health(1, "--id", 1)
    joining = crawl.worker()
    crawl.await_words(joining, "worker 1 joins")
    run.succeed()
    joining.end()
    costs_s = {host: longest_gap_s(crawl, host) - DELAY_S for host in HOSTS}
    print("longest gap beside the pause:", costs_s)
    assert max(costs_s.values()) <= COSTS_S + BUSY_S
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


def test_who_stood_still_at_the_end_learns_that_the_crawl_is_over(crawl: "ProcessCrawl") -> None:
    """Its queue is gone by then, and nobody is there to answer it."""
    run = crawl.crawl(workers=1, lease_s=2.0)
    joined = crawl.worker()
    crawl.await_words(joined, "joins the crawl")
    standing_still = [joined.pid, *descendants(joined.pid)]
    for pid in standing_still:
        os.kill(pid, signal.SIGSTOP)
    run.succeed()
    for pid in standing_still:
        os.kill(pid, signal.SIGCONT)
    assert "the crawl is over" in joined.succeed()
