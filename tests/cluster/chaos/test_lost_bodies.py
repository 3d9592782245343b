"""Large bodies that workers write to Redis: a death leaves none that stays, and none is missing."""

from typing import TYPE_CHECKING

import pytest
from tests.cluster.conftest import result_in_one_process
from tests.cluster.small_web import HOSTS, LEAVES

from gossamer.stores.redis.bodies import LARGE_BYTES
from gossamer.stores.redis.row_keys import UNSETTLED_S, RowKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis_servers import RedisServer
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl

    from gossamer.testing import Web

NOISE = 2 * LARGE_BYTES
LARGE_PAGES = len(HOSTS) * LEAVES

WRITES_AND_DIES = """
import asyncio, os, pathlib, signal
from gossamer.stores.bodies import body_name
from gossamer.stores.redis.bodies import RedisBodies
write, mark = RedisBodies.write, pathlib.Path(__file__).with_name("died")
async def write_and_die(self, *arguments):
    reference = await write(self, *arguments)
    if body_name(reference) and not mark.exists():
        mark.touch()
        while await self.fetch(body_name(reference)) is None:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return reference
RedisBodies.write = write_and_die
class Dies:
    def page(self, page):
        pass
"""
LOSES = """
import pathlib
from gossamer.stores.bodies import body_name
from gossamer.stores.redis.bodies import RedisBodies
write, folder = RedisBodies.write, pathlib.Path(__file__).parent
async def write_and_lose(self, content, url_id, *arguments):
    reference = await write(self, content, url_id, *arguments)
    mark = folder / f"lost-{url_id}"
    if url_id in {12, 15, 18} and not mark.exists():
        mark.touch()
        self._attach(("DEL", self._keys.body(body_name(reference))))
    return reference
RedisBodies.write = write_and_lose
class Loses:
    def page(self, page):
        pass
"""
LONG_LEASE_S = 30.0


@pytest.fixture
def web(make_web: "Callable[..., Web]") -> "Web":
    """The small web, with large pages."""
    return make_web(noise=NOISE)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> "CrawlResult":
    """What comes of it in one process, with a file for a store."""
    return result_in_one_process(tmp_path_factory.mktemp("embedded"), noise=NOISE)


def times_left(server: "RedisServer", crawl: "ProcessCrawl") -> dict[bytes, int]:
    """Return for how long the server keeps each body, in seconds; -1: for good."""
    with server.client as client:
        keys = [*client.scan_iter(RowKeys(crawl.name).body("*"))]
        return {key: int(client.ttl(key)) for key in keys}


def assert_others_run_out(times: dict[bytes, int]) -> None:
    """Each large page has its body for good, and what no page refers to goes by itself."""
    others = [left for left in times.values() if left != -1]
    assert len(times) - len(others) == LARGE_PAGES
    assert all(0 < left <= UNSETTLED_S for left in others)


@pytest.mark.req("B1", "B3")
def test_a_worker_is_killed_between_a_body_and_its_settlement(
    server: "RedisServer", crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    crawl.folder.joinpath("dies.py").write_text(WRITES_AND_DIES, encoding="utf-8")
    run = crawl.crawl("--module", f"{crawl.folder}/dies.py:Dies", workers=0, lease_s=LONG_LEASE_S)
    assert crawl.worker().succeed().count("died (signal 9) and is replaced") == 1
    run.succeed()
    assert crawl.result() == expected
    times = times_left(server, crawl)
    assert_others_run_out(times)
    assert len(times) > LARGE_PAGES
    crawl.verify()


@pytest.mark.req("B1", "B3", "D16")
def test_bodies_that_are_gone_before_their_commit_are_fetched_again(
    server: "RedisServer", crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """The worker settles its pages again, whoever leads: it is refused then."""
    crawl.folder.joinpath("loses.py").write_text(LOSES, encoding="utf-8")
    module = "--module", f"{crawl.folder}/loses.py:Loses"
    run = crawl.crawl(*module, workers=0, lease_s=LONG_LEASE_S)
    crawl.worker().succeed()
    said = run.succeed()
    assert "the store has lost what workers had written of a page" in said
    assert len([*crawl.folder.glob("lost-*")]) == 3
    assert crawl.result() == expected
    assert_others_run_out(times_left(server, crawl))
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("D15")
def test_what_has_expired_leaves_nothing_behind(
    server: "RedisServer", crawl: "ProcessCrawl"
) -> None:
    run = crawl.crawl("--keep", "1s", workers=0, delay_s=0.4)
    worker, seen = crawl.worker(), 0
    while not run.has_ended:
        seen = max(seen, len(times_left(server, crawl)))
    run.succeed()
    worker.succeed()
    assert seen > 0
    assert len(crawl.saved()) > LARGE_PAGES
    assert len(times_left(server, crawl)) < LARGE_PAGES
    crawl.verify()
