"""A shared crawl as people run it: one command, and others that join and leave."""

import signal
import socket
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from gossamer.cli.signals import ECHO_S
from gossamer.stores.redis.lead import LEAD_S
from gossamer.testing import RequestRecord, Web

if TYPE_CHECKING:
    from redis_servers import RedisServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl

GRACE_S = 20.0


@pytest.mark.req("D16", "D17", "B4")
@pytest.mark.parametrize("workers", [3])
def test_several_processes_find_what_one_finds(
    workers: int, crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    crawl.crawl(workers=workers).succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
    requests = len(crawl.web.requests)
    assert "this crawl is finished" in crawl.crawl(workers=workers).succeed()
    assert len(crawl.web.requests) == requests


@pytest.mark.req("D16", "D17", "B4")
def test_workers_join_with_one_command_and_leave_when_asked(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """The command that adds the seeds has none of its own; their options are those it has."""
    run = crawl.crawl("--user-agent", "Probe/1 (+http://probe.test)", workers=0)
    staying, leaving = crawl.worker(), crawl.worker()
    crawl.await_requests(30)
    leaving.signal(signal.SIGTERM)
    assert leaving.end(GRACE_S) == 0
    assert "left the crawl" in leaving.output
    assert "joins the crawl" in staying.output
    assert "the crawl is over" in staying.succeed()
    run.succeed()
    agents = {record.headers.get("user-agent") for record in crawl.web.requests}
    assert agents == {"Probe/1 (+http://probe.test)"}
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


NOTING = """\
import time
class Noting:
    def open(self, context):
        time.sleep(1.0 * (context.worker == 1))
        self.file = context.directory / f"hosts-{context.worker}"
    def page(self, page):
        with self.file.open("a") as file:
            print(page.url.split(":")[1], file=file)
"""


@pytest.mark.req("D5", "D16")
def test_hosts_are_shared_evenly_also_with_a_worker_that_is_late(crawl: "ProcessCrawl") -> None:
    """The first to come up would get all of them otherwise, and a host in use is not taken away."""
    module = crawl.folder / "noting.py"
    module.write_text(NOTING, encoding="utf-8")
    port = crawl.web.address[1]
    seeds = [f"http://{name}.localhost:{port}/" for name in "bcd"]
    noting = ("--module", f"{module}:Noting")
    crawl.crawl(*seeds, *noting, workers=2, lease_s=30.0).succeed()
    hosts = [set((crawl.folder / f"hosts-{one}").read_text().split()) for one in range(2)]
    assert [len(one) for one in hosts] == [2, 2]
    assert not hosts[0] & hosts[1]


def test_a_worker_that_waits_for_its_crawl_leaves_when_asked(crawl: "ProcessCrawl") -> None:
    worker = crawl.worker()
    crawl.await_words(worker, f"waiting for the crawl {crawl.name} to begin")
    worker.signal(signal.SIGTERM)
    assert worker.end(GRACE_S) == 0


def longest_pause_s(records: Sequence[RequestRecord]) -> float:
    """Return the longest time in which the web was not asked for anything."""
    moments = sorted(record.started for record in records)
    return max(later - before for before, later in pairwise(moments))


@pytest.mark.req("D16", "D17")
def test_a_frontier_that_stands_by_takes_over(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """For that of the command that began the crawl, and for one of its kind."""
    added = crawl.crawl(workers=0)
    worker = crawl.worker()
    crawl.await_words(worker, "joins the crawl")
    crawl.await_requests(8)
    first = crawl.run("frontier")
    crawl.await_requests(16)
    added.signal(signal.SIGKILL)
    added.end()
    crawl.await_requests(24)
    second = crawl.run("frontier")
    crawl.await_requests(32)
    first.signal(signal.SIGKILL)
    first.end()
    assert "the crawl is over" in second.succeed()
    assert "the crawl is over" in worker.succeed()
    crawl.await_gone()
    assert longest_pause_s(crawl.web.requests) < 2 * LEAD_S
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("D16")
def test_two_crawls_in_one_redis_do_not_touch_each_other(
    server: "RedisServer",
    make_crawl: "MakeCrawl",
    make_web: Callable[[], Web],
    expected: "CrawlResult",
) -> None:
    crawls = [make_crawl(server.url, make_web()) for _ in range(2)]
    for run in [crawl.crawl(workers=1) for crawl in crawls]:
        run.succeed()
    for crawl in crawls:
        assert crawl.result() == expected
        crawl.assert_polite()
        crawl.verify()


@pytest.mark.req("B1", "B3")
def test_interrupted_it_stops_in_order_and_the_same_command_continues(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl()
    crawl.await_requests(25)
    run.signal(signal.SIGINT)
    assert run.end(GRACE_S) == 130
    assert "gossamer resume --name" in run.output  # how to go on
    assert crawl.processes() == []
    asked = len(crawl.web.requests)
    crawl.verify()
    crawl.crawl().succeed()
    assert len(crawl.web.requests) > asked
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


def test_interrupted_twice_it_stops_at_once(crawl: "ProcessCrawl") -> None:
    run = crawl.crawl()
    crawl.await_requests(10)
    run.signal(signal.SIGINT)
    crawl.await_words(run, "press Ctrl-C again to quit now")
    time.sleep(ECHO_S)  # sooner it would count as the first
    run.signal(signal.SIGINT)
    assert run.end(3.0) in {130, -signal.SIGINT}, "or it had just ended by itself"
    assert crawl.processes() == []
    crawl.verify()


def test_a_second_command_for_a_running_crawl_is_refused(crawl: "ProcessCrawl") -> None:
    run = crawl.crawl(delay_s=1.0)
    crawl.await_requests(5)
    second = crawl.crawl(delay_s=1.0)
    assert second.end(GRACE_S) == 1
    assert f"another process coordinates the crawl {crawl.name}" in second.output
    assert "gossamer worker" in second.output
    assert not run.has_ended


def test_fresh_starts_over(crawl: "ProcessCrawl", expected: "CrawlResult") -> None:
    crawl.crawl("--max-pages", 10).succeed()
    crawl.web.clear_requests()
    crawl.crawl("--fresh").succeed()
    assert "/robots.txt" in [record.path for record in crawl.web.requests]
    assert {row[0] for row in crawl.result().urls} == {row[0] for row in expected.urls}
    crawl.verify()


def test_a_raised_budget_continues(crawl: "ProcessCrawl", expected: "CrawlResult") -> None:
    crawl.crawl("--max-pages", 10).succeed()
    assert len(crawl.saved()) == 10
    crawl.crawl().succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


def test_a_module_that_cannot_be_opened_ends_the_crawl_with_words(crawl: "ProcessCrawl") -> None:
    """A module that cannot be opened will not be there the next time either."""
    module = crawl.folder / "broken.py"
    module.write_text(
        "class Broken:\n"
        "    def open(self, context):\n"
        "        raise OSError('no such luck')\n"
        "    def page(self, page):\n"
        "        pass\n",
        encoding="utf-8",
    )
    run = crawl.crawl("--module", f"{module}:Broken", workers=1)
    assert run.end() == 1
    assert "broken.py:Broken could not open: OSError: no such luck" in run.output
    assert "Traceback" not in run.output
    assert crawl.processes() == []


def test_workers_that_keep_dying_without_a_page_end_the_crawl_with_words(
    crawl: "ProcessCrawl",
) -> None:
    module = crawl.folder / "fatal.py"
    module.write_text(
        "import os\n"
        "class Fatal:\n"
        "    def open(self, context):\n"
        "        os._exit(3)\n"
        "    def page(self, page):\n"
        "        pass\n",
        encoding="utf-8",
    )
    run = crawl.crawl("--module", f"{module}:Fatal", workers=1)
    assert run.end() == 1
    assert "the workers keep dying, the last one with exit code 3: see what it said" in run.output
    assert crawl.processes() == []


def test_a_worker_tells_that_its_module_failed_on_every_page(crawl: "ProcessCrawl") -> None:
    module = crawl.folder / "failing.py"
    module.write_text("def fail(page): raise ValueError('never')\n", encoding="utf-8")
    run = crawl.crawl("--module", f"{module}:fail", workers=0)
    worker = crawl.worker()
    assert worker.end(GRACE_S) == 4, worker.output
    assert f"error: module {module}:fail failed on every page" in worker.output
    run.succeed()


@pytest.mark.req("D18")
def test_whoever_coordinates_the_crawl_hears_what_workers_elsewhere_warn_of(
    crawl: "ProcessCrawl",
) -> None:
    """Also why one of them has ended; what was said before it is not told again."""
    module = crawl.folder / "warning.py"
    module.write_text(
        "import logging, os\n"
        "class Warning:\n"
        "    def open(self, context):\n"
        "        if 'BROKEN' in os.environ:\n"
        "            raise OSError('no such luck')\n"
        "    def page(self, page):\n"
        "        logging.warning('look at %s', page.url)\n",
        encoding="utf-8",
    )
    options = ("--module", f"{module}:Warning", "--max-pages", 12)
    run = crawl.crawl(*options, workers=0)
    machine = socket.gethostname()
    broken = crawl.worker(BROKEN="yes")
    assert broken.end(GRACE_S) == 1
    crawl.await_words(run, f"error: worker 0 on {machine}: ")
    assert "could not open: OSError: no such luck" in run.output
    worker = crawl.worker()
    assert run.end() == 0, run.output
    worker.succeed()
    warned = {line for line in worker.output.splitlines() if "look at http" in line}
    told = {line for line in run.output.splitlines() if "look at http" in line}
    assert len(warned) == len(told) == 12
    assert all(f"warning: worker 0 on {machine}: " in line for line in told)
    assert "look at" not in crawl.crawl(*options, workers=1).succeed()
