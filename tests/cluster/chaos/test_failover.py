"""The primary dies and its replica takes its place, without what had not reached it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult
    from threaded_proxy import ThreadedProxy

AOF = ("appendonly yes", "appendfsync everysec", "repl-diskless-sync-delay 0")
TCP = ("port",)
LAG_S = 1.0
"""How much of the primary's life its replica has missed."""


@pytest.mark.req("B1")
def test_a_replica_that_lags_behind_is_promoted(
    start_server: "StartServer",
    make_proxy: "Callable[[int], ThreadedProxy]",
    make_crawl: "MakeCrawl",
    expected: "CrawlResult",
) -> None:
    primary = start_server(*AOF, ports=TCP)
    link = make_proxy(primary.port)
    replica = start_server(*AOF, f"replicaof 127.0.0.1 {link.port}", ports=TCP)
    replica.await_link()
    front = make_proxy(primary.port)
    crawl = make_crawl(front.url)
    run = crawl.crawl()
    crawl.await_requests(30)
    link.act(lambda one: one.pause())
    time.sleep(LAG_S)
    primary.kill()
    link.act(lambda one: one.cut())
    with replica.client as client:
        client.replicaof("NO", "ONE")
    front.act(lambda one: one.lead_to(("127.0.0.1", replica.port)))
    run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
