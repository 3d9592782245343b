"""Large bodies that workers write to Redis: they run out until a commit keeps them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import pytest
from redis_servers import wait_until
from tests.unit.stores.redis.row_stage import COMMIT, CRAWL, PREFIX, send

from gossamer.model.errors import CrawlError
from gossamer.stores.bodies import BodyReader, BodyReference, body_name
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.bodies import LARGE_BYTES, RedisBodies
from gossamer.stores.redis.crawls import delete_crawl, register_name
from gossamer.stores.redis.lead import BodiesLostError
from gossamer.stores.redis.message_queues import JoinedQueues, settlement_queue
from gossamer.stores.redis.row_keys import UNSETTLED_S, RowKeys
from gossamer.stores.rows import Changes, PageRow
from gossamer.views.redis_copy import copy_crawl

if TYPE_CHECKING:
    from tests.unit.stores.redis.row_stage import RowStage

    from gossamer.stores.redis.rows import RedisRows

T = TypeVar("T")

ONE, TWO, THREE = (word.ljust(LARGE_BYTES, b".") for word in (b"one", b"two", b"three"))
ALL = f"{PREFIX}body:*"
KEPT, GONE = -1, -2
"""What the server says of the time of a key that stays, and of one that is not there."""


def with_bodies(stage: "RowStage", work: Callable[[RedisBodies], Awaitable[T]]) -> T:
    """Do something as a worker does."""

    async def run() -> T:
        address, keys = parse_address(stage.server.url), RowKeys(CRAWL)
        queues = JoinedQueues(address, keys, "writer", lambda _: None)
        bodies = RedisBodies(address, keys, queues.attach)
        try:
            done = await work(bodies)
            assert await queues.send(1, b"settlement")
            return done
        finally:
            await bodies.close()
            await queues.close()

    return asyncio.run(run())


def write(stage: "RowStage", *contents: bytes, lease: int = 1) -> list[bytes]:
    """Write the contents of the pages of URLs 1, 2 and so on; return the references."""

    async def work(bodies: RedisBodies) -> list[bytes]:
        return [
            await bodies.write(one, url, lease, 0.0, b"") for url, one in enumerate(contents, 1)
        ]

    return with_bodies(stage, work)


def key_of(stored: bytes) -> bytes:
    name = body_name(stored)
    assert name is not None
    return RowKeys(CRAWL).body(name)


def time_left(stage: "RowStage", stored: bytes) -> int:
    return int(stage.client.ttl(key_of(stored)))


def keep(number: int, stored: bytes) -> Changes:
    """Return the changes that keep a page, in place of a version that there may be."""
    changes = Changes()
    changes.pages[number] = PageRow(number, number, 1, bytes(16), b"", 0.0, 0)
    changes.dropped.add(number)
    changes.contents[number] = 0.0, stored
    return changes


def read(rows: "RedisRows", stored: bytes) -> bytes:
    async def fetch(name: str) -> bytes | None:
        return rows.read_body(name)

    async def note(name: str) -> bytes | None:
        raise AssertionError(name)

    return asyncio.run(BodyReader(note, fetch).read(stored))


def test_a_body_runs_out_until_a_commit_keeps_it_and_goes_when_it_is_dropped(
    stage: "RowStage",
) -> None:
    """So one whose worker is killed before it settles, or whose lease is lost, goes by itself."""
    rows = stage.begin()
    first, second = write(stage, ONE, TWO)
    assert UNSETTLED_S - 60 < time_left(stage, first) <= UNSETTLED_S
    send(rows, keep(1, first))
    assert rows.read_content(1) == first
    assert read(rows, first) == ONE
    assert time_left(stage, first) == KEPT
    assert time_left(stage, second) > 0
    dropped = Changes()
    dropped.dropped.add(1)
    send(rows, dropped)
    assert time_left(stage, first) == GONE
    assert stage.client.hgetall(f"{PREFIX}contents") == {}


def test_a_process_that_has_not_joined_writes_none_and_reads_those_of_others(
    stage: "RowStage",
) -> None:
    (stored,) = write(stage, ONE)

    async def work() -> tuple[bytes, list[bytes | None]]:
        bodies = RedisBodies(parse_address(stage.server.url), RowKeys(CRAWL))
        written = await bodies.write(TWO, 2, 1, 0.0, b"")
        bodies.discard(stored)
        names = body_name(stored) or "", "1:1:0"
        found = await asyncio.gather(*map(bodies.fetch, names))
        await bodies.close()
        return written, found

    assert asyncio.run(work()) == (TWO, [ONE, None])


def test_a_small_body_is_part_of_the_settlement(stage: "RowStage") -> None:
    rows, small = stage.begin(), ONE[:-1]
    stored, large = write(stage, small, ONE)
    assert stored == small
    send(rows, keep(1, large))
    send(rows, keep(1, stored))
    assert rows.read_content(1) == small
    assert [*stage.client.scan_iter(ALL)] == []
    assert stage.client.hgetall(f"{PREFIX}body-names") == {}


def test_a_new_version_of_a_page_replaces_its_body(stage: "RowStage") -> None:
    rows = stage.begin()
    (first,) = write(stage, ONE)
    send(rows, keep(1, first))
    (second,) = write(stage, THREE, lease=2)
    send(rows, keep(1, second))
    assert [time_left(stage, one) for one in (first, second)] == [GONE, KEPT]
    assert read(rows, second) == THREE


def test_a_body_that_is_gone_before_its_commit_keeps_all_of_it_from_the_store(
    stage: "RowStage",
) -> None:
    """Whoever leads next, after any failure, knows which settlement is to be refused."""
    rows = stage.begin()
    first, second = write(stage, ONE, TWO)
    stage.client.delete(key_of(second))
    before = stage.client.get(COMMIT)
    changes = keep(1, first)
    changes.contents[2] = 0.0, second
    changes.metadata["name"] = b"value"
    with pytest.raises(BodiesLostError, match="of a page"):
        send(rows, changes)
    assert stage.client.get(COMMIT) == before
    assert stage.client.hget(f"{PREFIX}metadata", "name") is None
    assert time_left(stage, first) > 0
    rows.close()
    successor = stage.lead()
    assert [successor.has_lost(one) for one in (first, second)] == [False, True]
    send(successor, keep(1, first))
    assert time_left(stage, first) == KEPT


def test_a_body_that_goes_in_the_last_moment_is_noticed(stage: "RowStage") -> None:
    rows = stage.begin()
    (stored,) = write(stage, ONE)
    stage.proxy.before_exec = lambda: stage.client.delete(key_of(stored))
    with pytest.raises(BodiesLostError):
        send(rows, keep(1, stored))
    assert stage.client.hgetall(f"{PREFIX}contents") == {}


def test_a_body_that_runs_out_in_the_last_moment_is_noticed(stage: "RowStage") -> None:
    """Mostly the server has not removed it yet, and takes it for gone."""
    rows = stage.begin()
    (stored,) = write(stage, ONE)

    def run_out() -> None:
        stage.client.pexpire(key_of(stored), 1)
        time.sleep(0.005)

    stage.proxy.before_exec = run_out
    with pytest.raises(BodiesLostError):
        send(rows, keep(1, stored))


def test_if_the_answer_of_a_commit_is_lost_its_bodies_stay(stage: "RowStage") -> None:
    rows = stage.begin()
    (stored,) = write(stage, ONE)
    stage.proxy.cut_after = True
    send(rows, keep(1, stored))
    assert time_left(stage, stored) == KEPT


def test_a_body_that_is_written_again_in_the_middle_of_its_commit_is_kept(
    stage: "RowStage",
) -> None:
    rows = stage.begin()
    (stored,) = write(stage, ONE)
    stage.proxy.before_exec = lambda: write(stage, ONE)
    send(rows, keep(1, stored))
    assert time_left(stage, stored) == KEPT


def test_what_is_discarded_goes_unless_it_is_kept(stage: "RowStage") -> None:
    rows = stage.begin()
    first, second = write(stage, ONE, TWO)
    send(rows, keep(1, first))

    async def discard(bodies: RedisBodies) -> None:
        bodies.discard(first)
        bodies.discard(second)
        bodies.discard(b"no reference")
        await bodies.write(THREE, 3, 1, 0.0, b"")

    with_bodies(stage, discard)
    wait_until(lambda: time_left(stage, second) == GONE)
    assert time_left(stage, first) == KEPT


def test_bodies_of_a_process_that_has_joined_travel_with_what_it_says_next(
    stage: "RowStage",
) -> None:
    async def work() -> tuple[list[bytes], list[bytes]]:
        address, keys = parse_address(stage.server.url), RowKeys(CRAWL)
        queues = JoinedQueues(address, keys, "w", lambda _: None)
        bodies = RedisBodies(address, keys, queues.attach)
        references = [await bodies.write(ONE, one, 1, 0.0, b"") for one in (1, 2, 3)]
        before = [*stage.client.scan_iter(ALL)]
        assert await queues.send(1, b"settlement")
        bodies.discard(references[1])
        assert await queues.send(2, b"another")
        await bodies.close()
        await queues.close()
        return references, before

    references, before = asyncio.run(work())
    assert before == []
    assert stage.messages(settlement_queue("w")) == [b"settlement", b"another"]
    first, second, third = references
    wait_until(lambda: time_left(stage, second) == GONE)
    assert all(0 < time_left(stage, one) <= UNSETTLED_S for one in (first, third))


def test_what_comes_late_from_a_lost_connection_takes_no_kept_body_away(
    stage: "RowStage",
) -> None:
    rows = stage.begin()
    (stored,) = write(stage, ONE)
    send(rows, keep(1, stored))
    assert write(stage, ONE) == [stored]
    assert time_left(stage, stored) == KEPT


def test_a_server_that_is_full_ends_the_crawl_and_loses_nothing(stage: "RowStage") -> None:
    stage.client.config_set("maxmemory", 1)
    with pytest.raises(CrawlError, match="no memory left"):
        write(stage, ONE)


def test_an_address_that_nobody_could_have_written_is_no_name() -> None:
    for segment in ("1:1:xyz", "lead", "1:1:0123456789abcdef:lead", "3-5f0c9a1be2d7-1"):
        assert body_name(BodyReference(segment, 0, 1, 1).pack()) is None
    assert body_name(b"\xc1damaged") is None
    assert body_name(b"") is None


def test_a_crawl_that_is_deleted_takes_all_bodies_along(stage: "RowStage") -> None:
    rows = stage.begin()
    (first, _) = write(stage, ONE, TWO)
    send(rows, keep(1, first))
    rows.close()
    address = parse_address(stage.server.url)
    register_name(address, CRAWL)
    assert len([*stage.client.scan_iter(ALL)]) == 2
    delete_crawl(address, CRAWL)
    assert [*stage.client.scan_iter(ALL)] == []


def test_a_copy_has_the_bodies_and_tells_what_nobody_refers_to(stage: "RowStage") -> None:
    rows = stage.begin()
    first, second, third = write(stage, ONE, TWO, THREE)
    send(rows, keep(1, first))
    send(rows, keep(2, second))
    stage.client.delete(key_of(second))
    with copy_crawl(parse_address(stage.server.url), CRAWL) as copy:
        stored = copy.connection.execute("SELECT content FROM contents ORDER BY page").fetchall()
        assert [bytes(content) for (content,) in stored] == [ONE, second]
        assert not [one for one in copy.wrong if "body" in one]
    stage.client.persist(key_of(third))
    stage.client.hdel(f"{PREFIX}body-names", "1")
    with copy_crawl(parse_address(stage.server.url), CRAWL) as copy:
        assert f"no page refers to the body:{body_name(third)}" in copy.wrong
        assert f"no page refers to the body:{body_name(first)}" in copy.wrong
        assert "the body of page 1 is not noted by its name" in copy.wrong
