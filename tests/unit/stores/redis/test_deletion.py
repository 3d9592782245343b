"""A crawl in Redis is deleted whole, and only while nobody works on it."""

from typing import TYPE_CHECKING

import pytest

from gossamer.model.errors import CrawlError, OlderFormatError, UsageError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.crawls import (
    check_deletable,
    crawl_names,
    delete_crawl,
    linked_to_crawl,
)
from gossamer.stores.redis.row_keys import REGISTRY, prefix

if TYPE_CHECKING:
    from tests.unit.stores.redis.row_stage import RowStage

MANY = 5_000


@pytest.fixture
def address(stage: "RowStage") -> RedisAddress:
    """The server with the crawl `c`, and a crawl beside it."""
    stage.client.sadd(REGISTRY, "c", "other")
    stage.client.set(f"{prefix('other')}rules", b"rules")
    return parse_address(stage.server.url)


def left(stage: "RowStage") -> set[str]:
    return {name for name in stage.names() if "{c}" in name}


def test_nothing_is_left_but_other_crawls(stage: "RowStage", address: RedisAddress) -> None:
    rows = stage.begin()
    pipe = stage.client.pipeline(transaction=False)
    for number in range(MANY):
        pipe.set(f"{prefix('c')}content:{number}", b"x")
    pipe.execute()
    rows.lead.resign()
    others = stage.names() - left(stage)
    assert crawl_names(address) == ["c", "other"]
    delete_crawl(address, "c")
    assert left(stage) == set()
    assert stage.names() == others
    assert crawl_names(address) == ["other"]


def test_nobody_deletes_what_is_worked_on(stage: "RowStage", address: RedisAddress) -> None:
    rows = stage.begin()
    before = stage.dump()
    with pytest.raises(CrawlError, match=r"is worked on by process .*: stop its"):
        delete_crawl(address, "c")
    assert stage.dump() == before
    rows.lead.resign()
    check_deletable(address, "c")


def test_nobody_begins_while_it_is_deleted(stage: "RowStage", address: RedisAddress) -> None:
    stage.begin().lead.resign()
    late = stage.open()
    delete_crawl(address, "c")
    late.take_lead(0.0)
    assert list(late.known_urls()) == []


def test_what_is_not_there_is_said(stage: "RowStage", address: RedisAddress) -> None:
    with pytest.raises(UsageError, match=r"there is no crawl d in .*: it has c, other"):
        check_deletable(address, "d")
    stage.client.delete(REGISTRY)
    with pytest.raises(UsageError, match="it has none"):
        check_deletable(address, "c")


def test_a_crawl_of_an_older_version_is_deleted_and_not_read(
    stage: "RowStage", address: RedisAddress
) -> None:
    seconds, _ = stage.client.time()
    stage.client.set(prefix("c") + "rules", b"rules")
    stage.client.hset(prefix("c") + "urls", "1", b"url")
    with (
        pytest.raises(OlderFormatError, match="begun with an older version of Gossamer"),
        linked_to_crawl(address, "c"),
    ):
        pass
    stage.client.zadd(prefix("c") + "seen", {"0": float(seconds)})
    with pytest.raises(CrawlError, match="is worked on: stop its"):
        delete_crawl(address, "c")
    stage.client.zadd(prefix("c") + "seen", {"0": float(seconds) - 61})
    stage.client.set(prefix("c") + "leader:frontier", b"somebody", ex=60)
    with pytest.raises(CrawlError, match="is worked on: stop its"):
        delete_crawl(address, "c")
    stage.client.delete(prefix("c") + "leader:frontier")
    delete_crawl(address, "c")
    assert left(stage) == set()


def test_what_was_broken_off_can_be_deleted(stage: "RowStage", address: RedisAddress) -> None:
    stage.begin().lead.resign()
    stage.client.delete("gossamer:{c}:rows:format", "gossamer:{c}:rows:urls")
    delete_crawl(address, "c")
    assert left(stage) == set()
