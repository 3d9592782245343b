"""A crawl in four partitions on a Redis Cluster of three nodes."""

import socket
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from gossamer.config import StoreAddress
from gossamer.control.crawl_status import crawl_status
from gossamer.control.explain import explain
from gossamer.control.havens import haven
from gossamer.control.migrate import migrate
from gossamer.control.shared_view import open_shared_crawl
from gossamer.control.stored_crawl import StoredCrawl, View
from gossamer.control.verify import verify
from gossamer.errors import CrawlError

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


def look(server: "RedisServer", crawl: str | None) -> AbstractContextManager[StoredCrawl]:
    return open_shared_crawl(server.url, crawl, View(links=True, audit=True))


def assert_sound(crawl: StoredCrawl) -> None:
    assert [one for one in verify(crawl, time.time()).findings if one.broken] == []


def move(
    source: StoreAddress, target: StoreAddress, crawl: str, partitions: int | None = None
) -> None:
    """Move a crawl to another store, where it replaces what is there."""
    ends = haven(source, crawl), haven(target, crawl, partitions=partitions)
    migrate(*ends, lambda *_: None, replace=True)


@pytest.mark.req("F5", "D13")
def test_a_divided_crawl_comes_to_the_same_as_one_in_a_file(
    nodes: "list[RedisServer]", make_crawl: "MakeCrawl", expected: "Result", tmp_path: Path
) -> None:
    """Whichever node is asked about it, all of them answer, also while it runs."""
    crawl = make_crawl(nodes[0].url)
    running = crawl.crawl("--partitions", PARTITIONS)
    crawl.await_requests(15)
    with look(nodes[1], crawl.name) as found:
        assert_sound(found)
        assert crawl_status(found).state == "running"
    file = StoreAddress("sqlite", tmp_path / "file")
    with pytest.raises(CrawlError, match="stop its"):
        move(StoreAddress("redis", url=nodes[1].url), file, crawl.name)
    running.succeed()

    assert crawl.result() == expected
    crawl.assert_polite()
    where = [names_on(node, crawl.name) for node in nodes]
    assert set().union(*where) == {*map(str, range(PARTITIONS)), "centre"}
    assert sum(map(len, where)) == PARTITIONS + 1, "a partition is on one node"
    assert sum(map(bool, where)) > 1, "several nodes share the work"
    with look(nodes[2], None) as found:
        assert_sound(found)
        assert crawl_status(found).ended_by == "complete"
        last = [*found.reader.pages()][-1]
        told = explain(found, last.url, time.time())
        assert told.page == last
        assert told.path[0].depth == 0
    with open_shared_crawl(nodes[1].url, crawl.name, View(page=last.id)) as found:
        assert len(found.reader.body(last.id) or b"") == last.bytes


@pytest.mark.req("D8")
def test_how_it_is_divided_is_fixed_unless_it_is_moved(
    nodes: "list[RedisServer]", make_crawl: "MakeCrawl", tmp_path: Path
) -> None:
    crawl = make_crawl(nodes[0].url)
    crawl.crawl("--partitions", PARTITIONS, "--max-pages", 1).succeed()
    again = crawl.crawl("--partitions", 2)
    assert again.end() == 2
    assert "4 partitions" in again.output

    def urls(node: int) -> set[str]:
        with look(nodes[node], crawl.name) as found:
            assert_sound(found)
            return {one.url for one in found.reader.urls()}

    before = urls(0)
    file, store = StoreAddress("sqlite", tmp_path / "file"), StoreAddress("redis", url=nodes[2].url)
    move(store, file, crawl.name)
    move(file, store, crawl.name, 3)
    assert urls(1) == before
    assert set().union(*[names_on(node, crawl.name) for node in nodes]) == {*"012", "centre"}
    move(store, store, crawl.name)
    assert urls(1) == before
    assert set().union(*[names_on(node, crawl.name) for node in nodes]) == {"0"}
