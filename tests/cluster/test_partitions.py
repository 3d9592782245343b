"""A crawl in four partitions on a Redis Cluster of three nodes."""

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis_cluster import Cluster

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
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl, Result

PARTITIONS = 4


@pytest.fixture
def cluster(start_server: "StartServer") -> Cluster:
    """Three nodes, each with a third of the slots."""
    return Cluster(start_server, 3)


def look(url: str, crawl: str | None) -> AbstractContextManager[StoredCrawl]:
    return open_shared_crawl(url, crawl, View(links=True, audit=True))


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
    cluster: Cluster, make_crawl: "MakeCrawl", expected: "Result", tmp_path: Path
) -> None:
    """Whichever node is asked about it, all of them answer, also while it runs."""
    crawl = make_crawl(cluster.masters[0].server.url)
    running = crawl.crawl("--partitions", PARTITIONS)
    crawl.await_requests(15)
    with look(cluster.masters[1].server.url, crawl.name) as found:
        assert_sound(found)
        assert crawl_status(found).state == "running"
    file = StoreAddress("sqlite", tmp_path / "file")
    with pytest.raises(CrawlError, match="stop its"):
        move(StoreAddress("redis", url=cluster.masters[1].server.url), file, crawl.name)
    running.succeed()

    assert crawl.result() == expected
    crawl.assert_polite()
    where = [node.names(crawl.name) for node in cluster.masters]
    assert set().union(*where) == {*map(str, range(PARTITIONS)), "centre"}
    assert sum(map(len, where)) == PARTITIONS + 1, "a partition is on one node"
    assert sum(map(bool, where)) > 1, "several nodes share the work"
    with look(cluster.masters[2].server.url, None) as found:
        assert_sound(found)
        assert crawl_status(found).ended_by == "complete"
        last = [*found.reader.pages()][-1]
        told = explain(found, last.url, time.time())
        assert told.page == last
        assert told.path[0].depth == 0
    with open_shared_crawl(cluster.masters[1].server.url, crawl.name, View(page=last.id)) as found:
        assert len(found.reader.body(last.id) or b"") == last.bytes


@pytest.mark.req("D8")
def test_how_it_is_divided_is_fixed_unless_it_is_moved(
    cluster: Cluster, make_crawl: "MakeCrawl", tmp_path: Path
) -> None:
    crawl = make_crawl(cluster.masters[0].server.url)
    crawl.crawl("--partitions", PARTITIONS, "--max-pages", 1).succeed()
    again = crawl.crawl("--partitions", 2)
    assert again.end() == 2
    assert "4 partitions" in again.output

    def urls(node: int) -> set[str]:
        with look(cluster.masters[node].server.url, crawl.name) as found:
            assert_sound(found)
            return {one.url for one in found.reader.urls()}

    before = urls(0)
    file = StoreAddress("sqlite", tmp_path / "file")
    store = StoreAddress("redis", url=cluster.masters[2].server.url)
    move(store, file, crawl.name)
    move(file, store, crawl.name, 3)
    assert urls(1) == before
    assert set().union(*[node.names(crawl.name) for node in cluster.masters]) == {*"012", "centre"}
    move(store, store, crawl.name)
    assert urls(1) == before
    assert set().union(*[node.names(crawl.name) for node in cluster.masters]) == {"0"}
