"""A divided crawl while its Redis Cluster changes: slots move, and masters die."""

from typing import TYPE_CHECKING

import pytest
from redis_cluster import Cluster
from redis_servers import wait_until

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl, Result

PARTITIONS = 4


@pytest.mark.req("B1", "B3", "D15")
def test_slots_move_to_other_nodes(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "Result"
) -> None:
    """That of the first partition, which also has what processes tell each other, and others."""
    cluster = Cluster(start_server, 3)
    crawl = make_crawl(cluster.masters[0].server.url)
    run = crawl.crawl("--partitions", PARTITIONS)
    for requests, partition in ((10, 0), (30, 2), (50, "centre")):
        crawl.await_requests(requests)
        source = cluster.owner_of(crawl.name, partition)
        target = next(node for node in cluster.masters if node is not source)
        cluster.move(crawl.name, partition, target)
        assert cluster.owner_of(crawl.name, partition) is target
    said = run.succeed()
    assert "died" not in said
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "D15")
def test_a_master_dies_and_its_replica_takes_over(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "Result"
) -> None:
    """The one whose address the processes were given, and which has what they tell each other."""
    cluster = Cluster(start_server, 3, replicated=True)
    crawl = make_crawl(cluster.masters[0].server.url)
    dying = cluster.home_of(crawl.name, 0)
    crawl.url = dying.server.url
    run = crawl.crawl("--partitions", PARTITIONS)
    crawl.await_requests(30)
    assert "0" in dying.names(crawl.name)
    heir = cluster.replicas[cluster.masters.index(dying)]
    dying.server.kill()
    wait_until(heir.leads)
    said = run.succeed()
    assert "died" not in said
    cluster.masters.remove(dying)
    crawl.url = cluster.masters[0].server.url
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
