"""Several workers that join with one command: how many, and under which numbers."""

import json
import os
import re
import signal
from typing import TYPE_CHECKING

import pytest
from process_tree import children, is_alive, workers_of
from redis_servers import wait_until

if TYPE_CHECKING:
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import GossamerProcess, ProcessCrawl

LONG_LEASE_S = 30.0
"""Longer than the crawl takes with all that happens to it."""


def numbers(crawl: "ProcessCrawl") -> dict[int, int]:
    """Return the process ids of the workers by their numbers."""
    told = json.loads(crawl.ask("status", "--json").succeed())
    return {one["number"]: one["pid"] for one in told["workers"]}


def await_numbers(crawl: "ProcessCrawl", expected: set[int], *runs: "GossamerProcess") -> None:
    """Wait until these are the numbers of the workers, and all of these commands."""

    def are_there() -> bool:
        found = numbers(crawl)
        pids = {pid for run in runs for pid in workers_of(run.pid)}
        return {*found} == expected and {*found.values()} == pids

    wait_until(are_there)


@pytest.mark.req("B1", "B3", "D16")
def test_each_that_is_killed_is_replaced_under_its_number(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """And so is the process that starts them; what they had is taken over at once."""
    run = crawl.crawl(workers=1, delay_s=0.5, lease_s=LONG_LEASE_S)
    crawl.await_requests(2)
    await_numbers(crawl, {0}, run)
    joined = crawl.worker("--workers", 2)
    crawl.await_words(joined, f"workers 1, 2 join the crawl {crawl.name}")
    await_numbers(crawl, {0, 1, 2}, run, joined)
    os.kill(numbers(crawl)[1], signal.SIGKILL)
    crawl.await_words(joined, "worker 1 died (signal 9) and is replaced")
    await_numbers(crawl, {0, 1, 2}, run, joined)
    left = workers_of(joined.pid)
    (launcher,) = children(joined.pid)
    os.kill(launcher, signal.SIGKILL)
    wait_until(lambda: not any(is_alive(pid) for pid in left))
    await_numbers(crawl, {0, 1, 2}, run, joined)
    assert "the crawl is over" in joined.succeed()
    said = run.succeed()
    words = (
        r"warning: workers 1, 2 on \S+: the process that starts the workers died: it is replaced"
    )
    assert len(re.findall(words, said)) == 1
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("D16")
def test_as_many_join_as_there_is_work_for(crawl: "ProcessCrawl", expected: "CrawlResult") -> None:
    run = crawl.crawl(workers=0)
    joined = crawl.worker("--workers", "auto")
    crawl.await_words(joined, "workers 0")
    assert "the crawl is over" in joined.succeed()
    run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("D16")
def test_who_goes_on_with_a_crawl_numbers_its_workers_from_0(crawl: "ProcessCrawl") -> None:
    run = crawl.crawl(workers=2, lease_s=LONG_LEASE_S)
    crawl.await_requests(2)
    await_numbers(crawl, {0, 1}, run)
    run.signal(signal.SIGKILL)
    run.end()
    crawl.await_gone()
    run = crawl.crawl(workers=3, lease_s=LONG_LEASE_S)
    await_numbers(crawl, {0, 1, 2}, run)
    run.signal(signal.SIGINT)
    assert run.end() == 130, run.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--workers", "0"), "--workers '0': must be a whole number from 1"),
        (("--workers", "many"), "--workers 'many': must be a whole number from 1"),
        (("--workers", "2", "--id", "5"), "--id is the number of one worker"),
        (("--workers", "auto", "--id", "5"), "--id is the number of one worker"),
    ],
)
def test_what_makes_no_sense_is_refused(
    options: tuple[str, ...], words: str, crawl: "ProcessCrawl"
) -> None:
    refused = crawl.ask("worker", *options)
    assert refused.code == 2
    assert words in refused.output


def test_more_workers_than_connections_are_refused(crawl: "ProcessCrawl") -> None:
    run = crawl.crawl("--connections", 2, workers=1)
    joined = crawl.worker("--workers", 3)
    assert joined.end() == 2
    assert "give --workers 2" in joined.output
    run.signal(signal.SIGINT)
    assert run.end() == 130
