"""A crawl on a Redis Cluster of three nodes, of which one has all of its keys."""

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis_cluster import Cluster

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError
from gossamer.stores.redis.keys import prefix
from gossamer.transfer.ends import migration_end
from gossamer.transfer.migrate import migrate
from gossamer.views.explain import explain
from gossamer.views.shared_view import open_shared_crawl
from gossamer.views.status import crawl_status
from gossamer.views.stored_crawl import StoredCrawl, View
from gossamer.views.verify import verify

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl, Result


@pytest.fixture
def cluster(start_server: "StartServer") -> Cluster:
    """Three nodes, each with a third of the slots."""
    return Cluster(start_server, 3)


def view(url: str, crawl: str | None) -> AbstractContextManager[StoredCrawl]:
    return open_shared_crawl(url, crawl, View(links=True, audit=True))


def assert_sound(crawl: StoredCrawl) -> None:
    assert [one for one in verify(crawl, time.time()).findings if one.broken] == []


def move(source: StoreAddress, target: StoreAddress, crawl: str) -> None:
    """Move a crawl to another store."""
    migrate(migration_end(source, crawl), migration_end(target, crawl), lambda *_: None)


@pytest.mark.req("F5", "D13", "D16")
def test_it_comes_to_the_same_as_in_a_file_whichever_node_is_asked(
    cluster: Cluster, make_crawl: "MakeCrawl", expected: "Result", tmp_path: Path
) -> None:
    """All of the nodes answer for the one that has it, also while it runs."""
    urls = [node.url for node in cluster.masters]
    crawl = make_crawl(urls[0])
    running = crawl.crawl()
    crawl.await_requests(15)
    for url in urls:
        with view(url, crawl.name) as found:
            assert_sound(found)
            assert crawl_status(found).state == "running"
    file = StoreAddress("sqlite", tmp_path / "file")
    with pytest.raises(CrawlError, match="stop its"):
        move(StoreAddress("redis", url=urls[1]), file, crawl.name)
    running.succeed()

    assert crawl.result() == expected
    crawl.assert_polite()
    assert cluster.owner_of(prefix(crawl.name)) is cluster.home_of(prefix(crawl.name))
    for url in urls:
        with view(url, None) as found:
            assert_sound(found)
            assert crawl_status(found).ended_by == "complete"
            last = [*found.reader.pages()][-1]
            told = explain(found, last.url, time.time())
            assert told.page == last
            assert told.path[0].depth == 0
        with open_shared_crawl(url, crawl.name, View(page=last.id)) as found:
            assert len(found.reader.body(last.id) or b"") == last.bytes


@pytest.mark.req("D8")
def test_it_is_moved_to_a_file_and_back(
    cluster: Cluster, make_crawl: "MakeCrawl", tmp_path: Path
) -> None:
    urls = [node.url for node in cluster.masters]
    crawl = make_crawl(urls[0])
    crawl.crawl("--max-pages", 1).succeed()
    with view(urls[1], crawl.name) as found:
        before = {one.url for one in found.reader.urls()}
    file = StoreAddress("sqlite", tmp_path / "file")
    move(StoreAddress("redis", url=urls[2]), file, crawl.name)
    other = f"{crawl.name}-2"
    migrate(
        migration_end(file, None),
        migration_end(StoreAddress("redis", url=urls[1]), other),
        lambda *_: None,
    )
    with view(urls[0], other) as found:
        assert_sound(found)
        assert {one.url for one in found.reader.urls()} == before
