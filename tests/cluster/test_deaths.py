"""A command that has joined a crawl is killed with what it has started: who goes on, and when."""

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
PATIENCE_S = 8.0
"""Far more than the 2 s that a death may cost on a quiet machine, far less than a lease."""


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
    run = crawl.crawl(workers=1, delay_s=0.3, lease_s=LONG_LEASE_S)
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
    for host in HOSTS:
        starts = sorted(record.started for record in crawl.web.requests_to(host))
        assert max(later - before for before, later in pairwise(starts)) < PATIENCE_S
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
