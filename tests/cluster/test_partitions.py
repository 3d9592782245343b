"""A crawl in four partitions on a Redis Cluster of three nodes."""

from typing import TYPE_CHECKING

import pytest
from redis_cluster import Cluster

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl, Result

PARTITIONS = 4


@pytest.fixture
def cluster(start_server: "StartServer") -> Cluster:
    """Three nodes, each with a third of the slots."""
    return Cluster(start_server, 3)


def test_a_divided_crawl_comes_to_the_same_as_one_in_a_file(
    cluster: Cluster, make_crawl: "MakeCrawl", expected: "Result"
) -> None:
    crawl = make_crawl(cluster.masters[0].server.url)
    crawl.crawl("--partitions", PARTITIONS).succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    where = [node.names(crawl.name) for node in cluster.masters]
    assert set().union(*where) == {*map(str, range(PARTITIONS)), "centre"}
    assert sum(map(len, where)) == PARTITIONS + 1, "a partition is on one node"
    assert sum(map(bool, where)) > 1, "several nodes share the work"


def test_how_it_is_divided_is_fixed(cluster: Cluster, make_crawl: "MakeCrawl") -> None:
    crawl = make_crawl(cluster.masters[0].server.url)
    crawl.crawl("--partitions", PARTITIONS, "--max-pages", 1).succeed()
    again = crawl.crawl("--partitions", 2)
    assert again.end() == 2
    assert "4 partitions" in again.output
