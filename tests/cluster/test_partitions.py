"""A crawl in four partitions on a Redis Cluster of three nodes."""

import socket
import time
from typing import TYPE_CHECKING

import pytest
from redis import Redis

if TYPE_CHECKING:
    from tests.cluster.conftest import MakeCrawl, RedisServer, Result, StartServer

SLOTS = 16_384
PARTITIONS = 4
NODES = 3


def tell(client: Redis, *words: str | int) -> str:
    """Give a node a command about the cluster."""
    return str(client.execute_command("CLUSTER", *words))  # type: ignore[no-untyped-call]


def await_state(clients: list[Redis]) -> None:
    """Wait until all nodes say that the cluster is whole."""
    deadline = time.monotonic() + 30
    while not all("cluster_state:ok" in tell(one, "INFO") for one in clients):
        assert time.monotonic() < deadline, "the nodes do not come together"
        time.sleep(0.05)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def nodes(start_server: "StartServer") -> "list[RedisServer]":
    """Three nodes that make up a cluster, each with a third of the slots."""
    buses = [free_port() for _ in range(NODES)]  # by default too high for some ports
    servers = [
        start_server("--cluster-enabled", "yes", "--cluster-port", f"{bus}") for bus in buses
    ]
    clients = [Redis(port=server.port, decode_responses=True) for server in servers]
    for place, client in enumerate(clients):
        first, last = SLOTS * place // NODES, SLOTS * (place + 1) // NODES - 1
        tell(client, "ADDSLOTSRANGE", first, last)
        tell(client, "SET-CONFIG-EPOCH", place + 1)
        if place:
            tell(client, "MEET", "127.0.0.1", servers[0].port, buses[0])
    await_state(clients)
    return servers


def names_on(server: "RedisServer", crawl: str) -> set[str]:
    """Return which partitions of a crawl lie on a node."""
    with Redis(port=server.port, decode_responses=True, encoding_errors="replace") as client:
        found = client.scan_iter(match=f"gossamer:{{{crawl}:*", count=1000)
        return {name.partition(":{")[2].partition("}")[0].rpartition(":")[2] for name in found}


def test_a_divided_crawl_comes_to_the_same_as_one_in_a_file(
    nodes: "list[RedisServer]", make_crawl: "MakeCrawl", expected: "Result"
) -> None:
    crawl = make_crawl(nodes[0].url)
    crawl.crawl("--partitions", PARTITIONS).succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    where = [names_on(node, crawl.name) for node in nodes]
    assert set().union(*where) == {*map(str, range(PARTITIONS)), "centre"}
    assert sum(map(len, where)) == PARTITIONS + 1, "a partition is on one node"
    assert sum(map(bool, where)) > 1, "several nodes share the work"


def test_how_it_is_divided_is_fixed(nodes: "list[RedisServer]", make_crawl: "MakeCrawl") -> None:
    crawl = make_crawl(nodes[0].url)
    crawl.crawl("--partitions", PARTITIONS, "--max-pages", 1).succeed()
    again = crawl.crawl("--partitions", 2)
    assert again.end() == 2
    assert "4 partitions" in again.output
