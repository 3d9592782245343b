"""A crawl on a Redis Cluster of three nodes, of which one has all of its keys."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from redis_cluster import Cluster

from gossamer.stores.redis.row_keys import prefix

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl


@pytest.fixture
def cluster(start_server: "StartServer") -> Cluster:
    """Three nodes, each with a third of the slots."""
    return Cluster(start_server, 3)


def status_at(url: str, crawl: "ProcessCrawl") -> dict[str, Any]:
    """Return what a node says of a crawl."""
    found: dict[str, Any] = json.loads(crawl.ask("status", "--json", GOSSAMER_STORE=url).succeed())
    return found


@pytest.mark.req("F5", "D13", "D16")
def test_it_comes_to_the_same_as_in_a_file_whichever_node_is_asked(
    cluster: Cluster, make_crawl: "MakeCrawl", expected: "CrawlResult"
) -> None:
    """All of the nodes answer for the one that has it, also while it runs."""
    urls = [node.url for node in cluster.masters]
    crawl = make_crawl(urls[0])
    running = crawl.crawl(delay_s=0.2)
    crawl.await_requests(10)
    states = [status_at(url, crawl)["state"] for url in urls]
    assert states[0] == "running"
    assert set(states) <= {"running", "finished"}  # on a busy machine it may end meanwhile
    running.succeed()

    assert crawl.result() == expected
    crawl.assert_polite()
    assert cluster.owner_of(prefix(crawl.name)) is cluster.home_of(prefix(crawl.name))
    assert status_at(urls[1], crawl)["ended_by"] == "complete"
    crawl.ask("verify", GOSSAMER_STORE=urls[2]).succeed()
    page = f"http://b.localhost:{crawl.web.address[1]}/leaf/3"
    assert "fetched" in crawl.ask("explain", page, GOSSAMER_STORE=urls[2]).succeed()
    body = crawl.ask("pages", "--cat", 1, GOSSAMER_STORE=urls[1]).succeed()
    assert crawl.saved()[1].decode().endswith(body)
