"""The Redis under a crawl dies, stands still, or is hard to reach."""

import os
import re
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from process_tree import is_alive
from redis_servers import wait_until

from gossamer.cli.signals import ECHO_S
from gossamer.testing import KeepOpen, Raw
from gossamer.testing.site import Prepared

if TYPE_CHECKING:
    from redis_servers import RedisServer, StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl
    from threaded_proxy import ThreadedProxy

SLOW = ("a.localhost", "/leaf/1")


@pytest.mark.req("B1", "B3", "D15")
def test_the_server_is_killed_and_started_again(
    chaos_seed: int,
    start_server: "StartServer",
    make_crawl: "MakeCrawl",
    expected: "CrawlResult",
) -> None:
    """A process that is killed loses nothing that it has answered: the file was written before."""
    sync = ("everysec", "always")[chaos_seed % 2]
    server = start_server("appendonly yes", f"appendfsync {sync}")
    crawl = make_crawl(server.url)
    run = crawl.crawl()
    for requests in (15, 45):
        crawl.await_requests(requests)
        server.kill()
        time.sleep(0.3)
        server.start()
    said = run.succeed()
    assert "The store does not answer" in said
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "D15")
def test_a_worker_dies_while_the_server_is_away(
    server: "RedisServer", crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """The one that replaces it waits for the server, as those do that work already."""
    run = crawl.crawl()
    crawl.await_requests(20)
    dying = crawl.await_workers(2)[0]
    server.kill()
    os.kill(dying, signal.SIGKILL)
    wait_until(lambda: not is_alive(dying))
    time.sleep(0.5)
    server.start()
    assert "died (signal 9) and is replaced" in run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("D15", "D16")
def test_interrupted_twice_nobody_waits_for_a_server_that_is_away(
    server: "RedisServer", crawl: "ProcessCrawl"
) -> None:
    runs = [crawl.crawl(workers=1, delay_s=1.0), crawl.worker()]
    crawl.await_workers(2)
    crawl.await_requests(5)
    server.kill()
    for run in runs:
        crawl.await_words(run, "The store does not answer")
        run.signal(signal.SIGINT)
        crawl.await_words(run, "press Ctrl-C again to quit now")
    time.sleep(ECHO_S)
    for run in runs:
        run.signal(signal.SIGINT)
    assert [run.end(20.0) for run in runs] == [130, 130]
    assert crawl.processes() == []


@pytest.mark.req("B1")
def test_the_server_loses_power_and_with_it_the_last_seconds(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "CrawlResult"
) -> None:
    """What the disk did not have is gone; whoever worked meanwhile has to be told so."""
    server = start_server("appendonly yes", "appendfsync everysec")
    crawl = make_crawl(server.url)
    run = crawl.crawl()
    crawl.await_requests(25)
    on_disk = server.append_only_file.stat().st_size
    time.sleep(1.0)
    server.kill()
    with server.append_only_file.open("r+b") as file:
        file.truncate(on_disk)
    server.start()
    run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3")
def test_a_download_that_the_server_has_forgotten_ends_before_its_host_is_asked_again(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "CrawlResult"
) -> None:
    """One that would go on for long, begun in the second that is lost."""
    server = start_server("appendonly yes", "appendfsync everysec")
    crawl = make_crawl(server.url)
    slow = crawl.web.site("a.localhost")
    usual = slow.answer("/leaf/1")
    assert isinstance(usual, Prepared)
    slow.reply("/leaf/1", Raw([KeepOpen()]), Raw([usual.whole]))
    run = crawl.crawl()
    sizes = [0]
    while not any((one.host, one.path) == SLOW for one in crawl.web.requests):
        sizes.append(server.append_only_file.stat().st_size)
        time.sleep(0.1)
    server.kill()
    with server.append_only_file.open("r+b") as file:
        file.truncate(sizes[-3])
    server.start()
    run.succeed()
    first, second = [one for one in crawl.web.requests if (one.host, one.path) == SLOW]
    assert second.started > first.ended
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "D15")
def test_the_server_stands_still_for_longer_than_a_lease(
    server: "RedisServer", crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl()
    crawl.await_requests(20)
    server.signal(signal.SIGSTOP)
    time.sleep(3.5)
    server.signal(signal.SIGCONT)
    run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "D15")
def test_connections_are_cut_delayed_and_refused(
    start_server: "StartServer",
    make_proxy: "Callable[[int], ThreadedProxy]",
    make_crawl: "MakeCrawl",
    expected: "CrawlResult",
) -> None:
    server = start_server("appendonly yes", "appendfsync always", ports=("port",))
    proxy = make_proxy(server.port)
    crawl = make_crawl(server.url)
    run = crawl.crawl(GOSSAMER_STORE=proxy.url)
    for requests in (10, 20, 30, 40):
        crawl.await_requests(requests)
        proxy.act(lambda one: one.cut())
    crawl.await_requests(50)
    proxy.act(lambda one: one.delay(0.05))
    crawl.await_requests(60)
    proxy.act(lambda one: one.refuse())
    proxy.act(lambda one: one.cut())
    time.sleep(0.5)
    proxy.act(lambda one: one.resume())
    crawl.await_requests(70)
    proxy.act(lambda one: one.pause())
    time.sleep(1.0)
    proxy.act(lambda one: one.resume())
    run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1")
def test_a_server_that_has_lost_everything_is_no_finished_crawl(
    server: "RedisServer", crawl: "ProcessCrawl"
) -> None:
    run, worker = crawl.crawl(), crawl.worker()
    crawl.await_requests(15)
    with server.client as client:
        client.flushall()
    assert run.end() == 1
    assert worker.end() == 1
    assert re.search(f"the crawl {crawl.name} .*is not there any more", run.output)
    assert f"the crawl {crawl.name} is not in the store any more" in worker.output
    assert "Traceback" not in run.output + worker.output
