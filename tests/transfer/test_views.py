"""A crawl in Redis reads the same as one in a file, and costs a handful of commands."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.unit.views.reading import (
    bodies,
    broken,
    explained,
    in_directory,
    in_redis,
    listed_urls,
    status,
    verified,
)

from gossamer.cli.main import run
from gossamer.model import Url
from gossamer.stores.reading import ReadRequest
from gossamer.stores.redis.address import parse_address
from gossamer.views.pages import UrlEntry
from gossamer.views.status import CrawlStatus
from gossamer.worker.links import LinkFilter

if TYPE_CHECKING:
    from tests.transfer.conftest import CrawlLab


def comparable(status: CrawlStatus) -> dict[str, Any]:
    """Return what two crawls of one web have in common, whatever the order."""
    found = msgspec.to_builtins(status)
    for name in ("where", "started_at", "last_at", "busiest_hosts", "url_queue_peak"):
        del found[name]
    return dict(found)


def entries(crawl: ReadRequest) -> dict[str, tuple[object, ...]]:
    """Return what lists of two crawls of one web have in common, by URL."""

    def stable(one: UrlEntry) -> tuple[object, ...]:
        return one.depth, one.outcome, one.bytes, one.url_state, one.host, one.attempts

    return {one.url: stable(one) for one in listed_urls(crawl)}


@pytest.mark.req("F5", "D13")
def test_the_same_web_reads_the_same_from_either_store(
    lab: "CrawlLab", crawl: str, tmp_path: Path
) -> None:
    file, shared = in_directory(tmp_path / "file"), in_redis(lab.url, crawl)
    assert asyncio.run(lab.crawl(crawl)) == "complete"
    assert asyncio.run(lab.crawl_file(tmp_path / "file" / "crawl.sqlite")) == "complete"
    assert broken(file) == broken(shared) == {}
    assert "store" in {one.rule for one in verified(shared).findings}
    assert comparable(status(shared)) == comparable(status(file))
    urls = entries(file)
    assert len(urls) > 100
    assert entries(shared) == urls
    assert bodies(shared) == bodies(file)
    for url in urls:
        mine, theirs = explained(shared, url), explained(file, url)
        assert (mine.state, mine.depth, mine.outcome) == (
            theirs.state,
            theirs.depth,
            theirs.outcome,
        )
        assert mine.path[0].url == theirs.path[0].url == lab.seed
        assert mine.path[-1].depth == theirs.path[-1].depth
        assert mine.path[-1].url == url


@pytest.mark.req("F5")
def test_a_crawl_that_was_interrupted(lab: "CrawlLab", crawl: str) -> None:
    assert asyncio.run(lab.crawl(crawl, 40)) == "interrupted"
    shared = in_redis(lab.url, crawl)
    assert broken(shared) == {}
    found = status(shared)
    assert (found.state, found.ended_by) == ("interrupted", "interrupted")
    assert found.waiting > 0
    urls = listed_urls(shared)
    waiting = [one for one in urls if one.state == "waiting"]
    assert len(waiting) == found.waiting
    assert sum(one.waiting for one in found.queues) == found.waiting - found.url_states["unscored"]
    assert sum(one.urls for one in found.depths) == len(urls)
    assert sum(one.finished for one in found.depths) == found.finished
    assert sum(one.pages for one in found.depths) == found.pages
    assert found.busiest_hosts[0].waiting >= found.busiest_hosts[-1].waiting > 0
    assert found.started_at is not None
    assert found.last_at is not None
    assert time.time() - 60 < found.started_at < found.last_at < time.time()
    waits = explained(shared, waiting[0].url).waits
    assert waits is not None
    assert "no-process" in waits.obstacles


@pytest.mark.req("F5")
def test_a_crawl_that_ended_by_its_budget(lab: "CrawlLab", crawl: str) -> None:
    assert asyncio.run(lab.crawl(crawl, **{"max-pages": 10})) == "max-pages"
    shared = in_redis(lab.url, crawl)
    assert broken(shared) == {}
    assert (status(shared).ended_by, status(shared).pages) == ("max-pages", 10)


def test_a_worker_that_died_is_taken_for_alive_until_its_leases_are_over(
    lab: "CrawlLab", crawl: str
) -> None:
    async def die() -> None:
        plan = lab.plan()
        async with lab.redis_store(crawl, plan) as store:
            await lab.work(store, plan, 5)
            await store.join(0, time.time())
            candidates = await store.candidates(1000)
            await store.prioritise([(one, 50.0) for one in candidates])
            await store.route([range(10)] * 10, time.time())
            assert (await store.lease(0, 1, time.time())).tasks
            raise lab.died

    asyncio.run(die())
    shared = in_redis(lab.url, crawl)
    assert (status(shared).state, status(shared).in_progress) == ("running", 1)

    async def fall_silent() -> None:
        async with lab.client() as client:
            await client.zadd(lab.key(crawl, "seen"), {"0": time.time() - 1000, "1": 0})

    asyncio.run(fall_silent())
    assert status(shared).state == "crashed"
    assert broken(shared) == {}


@pytest.mark.req("F5")
def test_a_status_costs_as_many_commands_for_ten_urls_as_for_a_thousand(
    lab: "CrawlLab", crawl: str
) -> None:
    async def prepare(name: str, urls: int) -> None:
        plan = lab.plan()
        link_filter = LinkFilter(plan.scope, plan.domain_of)
        links = [link_filter.file(Url(f"http://h{n % 10}.test/{n}")) for n in range(urls)]
        async with lab.redis_store(name, plan) as store:
            await store.join(0, time.time())
            assert await store.add_seeds(links, time.time()) == urls
            await store.prioritise([(one, 50.0) for one in await store.candidates(urls)])
            await store.route([range(10)] * 10, time.time())

    async def processed() -> int:
        async with lab.client() as client:
            stats: Any = await client.info("stats")
            return int(stats["total_commands_processed"])

    def cost(name: str, urls: int) -> int:
        asyncio.run(prepare(name, urls))
        before = asyncio.run(processed())
        found = status(in_redis(lab.url, name))
        after = asyncio.run(processed())
        assert (found.waiting, found.hosts, len(found.busiest_hosts)) == (urls, 10, 5)
        return after - before

    few, many = cost(f"{crawl}-10", 10), cost(f"{crawl}-1000", 1000)
    assert few == many < 40


@pytest.mark.req("F5")
def test_the_commands(
    lab: "CrawlLab",
    crawl: str,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    asyncio.run(lab.crawl(crawl))
    command = commands(monkeypatch, capfdbinary)
    given = ("--store", lab.url, "--name", crawl)
    where = f"the crawl {crawl} in {parse_address(lab.url)}"
    (status,) = map(json.loads, command("status", *given, "--json").splitlines())
    assert (status["ended_by"], status["where"]) == ("complete", where)
    pages = [json.loads(line) for line in command("pages", *given, "--json").splitlines()]
    assert len(pages) == status["pages"] > 100
    assert [one["id"] for one in pages] == [*range(1, len(pages) + 1)]
    every = [json.loads(line) for line in command("pages", *given, "--all", "--json").splitlines()]
    assert len(every) == sum(status["url_states"].values())
    missing = command("pages", *given, "--outcome", "not-found", "--json").splitlines()
    assert len(missing) == status["outcomes"]["not_found"]
    number = str(pages[-1]["id"])
    body = command("pages", *given, "--cat", number)
    assert len(body) == pages[-1]["bytes"]
    assert command("verify", *given).startswith(f"{where}: all ".encode())
    assert command("explain", pages[-1]["url"], *given).splitlines()[1].endswith(b"fetched")
    monkeypatch.setenv("GOSSAMER_STORE", lab.url)
    monkeypatch.setenv("GOSSAMER_NAME", crawl)
    assert command("pages", "--cat", number) == body
    assert command("pages", "--cat", "100000", code=1) == b""


def test_a_crawl_that_is_not_there(
    lab: "CrawlLab",
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    command = commands(monkeypatch, capfdbinary)
    command("status", "--store", lab.url, "--name", "nobody", code=1)
    with web_server() as port:
        command("status", "--store", f"redis://127.0.0.1:{port}", "--name", "nobody", code=1)
    command("status", "--store", "memory:", code=2)


@contextmanager
def web_server() -> Iterator[int]:
    """Give the port of something that is no Redis and says so at once."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield server.server_port
        thread.join()


def commands(
    monkeypatch: pytest.MonkeyPatch, output: pytest.CaptureFixture[bytes]
) -> Callable[..., bytes]:
    def call(*arguments: str, code: int = 0) -> bytes:
        monkeypatch.setattr(sys, "argv", ["gossamer", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = output.readouterr()
        assert ended.value.code == code, err
        return out

    return call
