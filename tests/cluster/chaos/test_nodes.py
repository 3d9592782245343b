"""A crawl while the Redis Cluster under it changes: its slot moves, and its master dies."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis_cluster import Cluster
from redis_servers import wait_until

from gossamer.stores.redis.row_keys import prefix

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult


def assert_written(output: Path, expected: "CrawlResult") -> None:
    """Each page is in the output, once: its writer has found the node that has the crawl."""
    urls = [json.loads(line)["url"] for line in output.read_text().splitlines()]
    assert len(urls) == len({*urls}) == len(expected.files)


@pytest.mark.req("B1", "B3", "D15")
def test_the_slot_moves_to_other_nodes(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "CrawlResult", tmp_path: Path
) -> None:
    """All keys of a crawl are in one slot; the processes were given the address of any node."""
    cluster = Cluster(start_server, 3)
    crawl = make_crawl(cluster.masters[0].url)
    key = prefix(crawl.name)
    run = crawl.crawl("-o", tmp_path / "pages.jsonl", "--fields", "url")
    for requests in (10, 30, 50):
        crawl.await_requests(requests)
        source = cluster.owner_of(key)
        target = next(node for node in cluster.masters if node is not source)
        cluster.move(key, target)
        assert cluster.owner_of(key) is target
    said = run.succeed()
    assert "died" not in said
    assert crawl.result() == expected
    assert_written(tmp_path / "pages.jsonl", expected)
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "D15")
def test_the_master_dies_and_its_replica_takes_over(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "CrawlResult", tmp_path: Path
) -> None:
    """The one that has the crawl, and whose address the processes were given."""
    cluster = Cluster(start_server, 3, replicated=True)
    crawl = make_crawl(cluster.masters[0].url)
    dying = cluster.home_of(prefix(crawl.name))
    crawl.url = dying.url
    run = crawl.crawl("-o", tmp_path / "pages.jsonl", "--fields", "url")
    crawl.await_requests(30)
    assert cluster.owner_of(prefix(crawl.name)) is dying
    heir = cluster.replicas[cluster.masters.index(dying)]
    dying.server.kill()
    wait_until(heir.leads)
    said = run.succeed()
    assert "died" not in said
    cluster.masters.remove(dying)
    crawl.url = cluster.masters[0].url
    assert crawl.result() == expected
    assert_written(tmp_path / "pages.jsonl", expected)
    crawl.assert_polite()
    crawl.verify()
