"""Rows in a cluster and behind Sentinels: the server that has the crawl is found, also later."""

import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from redis_cluster import Cluster
from redis_sentinels import WatchedPair
from tests.unit.stores.redis.row_stage import CRAWL, send

from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.lead import ServerForgotError
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Changes

if TYPE_CHECKING:
    from redis_servers import StartServer

pytestmark = pytest.mark.req("D15")

KEY = f"gossamer:{{{CRAWL}}}:"


def metadata(number: int) -> Changes:
    changes = Changes()
    changes.metadata[f"name {number}"] = b"%d" % number
    changes.sent["down"] = [b"%d" % number]
    return changes


@pytest.fixture
def cluster(start_redis: "StartServer") -> Cluster:
    """Two nodes, each with half of the slots."""
    return Cluster(start_redis, 2)


def test_a_slot_that_is_moved_is_followed(cluster: Cluster) -> None:
    home = cluster.home_of(KEY)
    (other,) = [node for node in cluster.masters if node is not home]
    with closing(RedisRows(parse_address(other.url), CRAWL)) as rows:
        rows.take_lead()
        send(rows, metadata(1))
        cluster.move(KEY, other)
        assert rows.metadata() == {"name 1": b"1"}
        send(rows, metadata(2))
        cluster.move(KEY, home)
        send(rows, metadata(3))
        assert len(rows.metadata()) == 3
        rows.lead.resign()
    with home.server.client as client:
        assert client.lrange(rows.keys.messages("down"), 0, -1) == [b"1", b"2", b"3"]


def test_a_primary_that_dies_is_replaced(start_redis: "StartServer") -> None:
    pair = WatchedPair(start_redis)
    pair.await_watch()
    with closing(RedisRows(parse_address(pair.url), CRAWL)) as rows:
        rows.take_lead()
        send(rows, metadata(1))
        with pair.primary.client as client:
            assert client.wait(1, 10_000) == 1
        pair.primary.kill()
        send(rows, metadata(2))
        assert rows.metadata() == {"name 1": b"1", "name 2": b"2"}
    with pair.replica.client as client:
        assert client.lrange(rows.keys.messages("down"), 0, -1) == [b"1", b"2"]


def test_a_replica_that_was_behind_is_noticed(start_redis: "StartServer") -> None:
    pair = WatchedPair(start_redis)
    pair.await_watch()
    with closing(RedisRows(parse_address(pair.url), CRAWL)) as rows:
        rows.take_lead()
        send(rows, metadata(1))
        with pair.primary.client as client:
            assert client.wait(1, 10_000) == 1
        pair.replica.signal(signal.SIGSTOP)
        large = metadata(2)
        for number in range(40):  # more than is on its way between them
            large.contents[number] = (1.0, bytes(1_000_000))
        send(rows, large)
        pair.primary.kill()
        pair.replica.signal(signal.SIGCONT)
        with pytest.raises(ServerForgotError):
            send(rows, metadata(3))
    with pair.replica.client as client:
        assert client.lrange(rows.keys.messages("down"), 0, -1) == [b"1"]
