"""A crawl in Redis looks the same as one in a file."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gossamer.cli.main import run
from gossamer.model import Url
from gossamer.stores.redis.address import parse_address
from gossamer.testing import Web
from gossamer.views.explain import explain
from gossamer.views.shared_view import open_shared_crawl
from gossamer.views.status import CrawlStatus, crawl_status
from gossamer.views.stored_crawl import View, open_crawl
from gossamer.views.verify import verify

if TYPE_CHECKING:
    from tests.transfer.conftest import CrawlLab

WHOLE = View(links=True, audit=True)


def comparable(status: CrawlStatus) -> dict[str, Any]:
    """Return what two crawls of one web have in common, whatever the order."""
    found = msgspec.to_builtins(status)
    for name in ("directory", "started_at", "last_at", "busiest_hosts"):
        del found[name]
    return dict(found)


@pytest.mark.req("F5", "D13")
def test_the_same_web_looks_the_same_from_either_store(
    lab: "CrawlLab", crawl: str, tmp_path: Path, partitions: int
) -> None:
    directory = tmp_path / "file"
    assert asyncio.run(lab.crawl(crawl)) == "complete"
    assert asyncio.run(lab.crawl_file(directory / "crawl.sqlite")) == "complete"
    now = time.time()
    with open_crawl(directory) as filed, open_shared_crawl(lab.url, crawl, WHOLE) as shared:
        assert verify(filed, now).sound
        found = verify(shared, now)
        assert [one for one in found.findings if one.broken] == []
        assert found.urls > 100
        assert "store" in {one.rule for one in found.findings}
        assert comparable(crawl_status(shared)) == comparable(crawl_status(filed))
        urls = {one.url: (one.depth, one.outcome) for one in filed.reader.urls()}
        assert {one.url: (one.depth, one.outcome) for one in shared.reader.urls()} == urls
        for url in urls:
            mine, theirs = (explain(one, Url(url), now) for one in (shared, filed))
            assert (mine.state, mine.depth, mine.outcome) == (
                theirs.state,
                theirs.depth,
                theirs.outcome,
            )
            assert len(mine.attempts) == len(theirs.attempts)
            assert mine.path[0].url == theirs.path[0].url == lab.seed
            assert mine.path[-1].depth == theirs.path[-1].depth
            assert mine.path[-1].url == url
        bodies = {one.url: filed.reader.body(one.id) for one in filed.reader.pages()}
        assert {one.url: shared.reader.body(one.id) for one in shared.reader.pages()} == bodies


@pytest.mark.req("F5")
def test_a_crawl_that_was_interrupted(lab: "CrawlLab", crawl: str) -> None:
    assert asyncio.run(lab.crawl(crawl, 40)) == "interrupted"
    with open_shared_crawl(lab.url, crawl, WHOLE) as shared:
        assert [one for one in verify(shared, time.time()).findings if one.broken] == []
        status = crawl_status(shared)
        assert (status.state, status.ended_by) == ("interrupted", "interrupted")
        assert status.waiting > 0
        waiting = next(one for one in shared.reader.urls() if one.state == "waiting")
        found = explain(shared, waiting.url, time.time())
        assert found.waits is not None
        assert "no-process" in found.waits.obstacles


@pytest.mark.req("F5")
def test_a_crawl_that_ended_by_its_budget(lab: "CrawlLab", crawl: str) -> None:
    assert asyncio.run(lab.crawl(crawl, **{"max-pages": 10})) == "max-pages"
    with open_shared_crawl(lab.url, crawl, WHOLE) as shared:
        assert [one for one in verify(shared, time.time()).findings if one.broken] == []
        assert crawl_status(shared).ended_by == "max-pages"
        assert crawl_status(shared).pages == 10


def test_a_worker_that_died_is_taken_for_alive_until_its_leases_are_over(
    lab: "CrawlLab", crawl: str, partitions: int
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
    with open_shared_crawl(lab.url, crawl, View()) as shared:
        assert shared.running
        assert crawl_status(shared).state == "running"
        assert crawl_status(shared).in_progress == 1

    async def wait() -> None:
        async with lab.client() as client:
            await client.zadd(lab.key(crawl, "seen"), {"0": time.time() - 1000, "1": 0})

    asyncio.run(wait())
    with open_shared_crawl(lab.url, crawl, WHOLE) as shared:
        assert crawl_status(shared).state == "crashed"
        assert [one for one in verify(shared, time.time()).findings if one.broken] == []


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
    assert (status["ended_by"], status["directory"]) == ("complete", where)
    pages = [json.loads(line) for line in command("pages", *given, "--json").splitlines()]
    assert len(pages) == status["pages"] > 100
    assert [one["id"] for one in pages] == [*range(1, len(pages) + 1)]
    every = [json.loads(line) for line in command("pages", *given, "--all", "--json").splitlines()]
    assert len(every) == sum(status["places"].values())
    number = str(pages[-1]["id"])
    body = command("pages", *given, "--cat", number)
    assert len(body) == pages[-1]["bytes"]
    assert command("verify", *given).startswith(f"{where} is sound: ".encode())
    assert command("explain", pages[-1]["url"], *given).splitlines()[1].endswith(b"fetched")
    monkeypatch.setenv("GOSSAMER_STORE", lab.url)
    monkeypatch.setenv("GOSSAMER_NAME", crawl)
    assert command("pages", "--cat", number) == body
    assert command("pages", "--cat", "100000", code=1) == b""


def test_a_crawl_that_is_not_there(
    lab: "CrawlLab",
    web: Web,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    command = commands(monkeypatch, capfdbinary)
    command("status", "--store", lab.url, "--name", "nobody", code=1)
    _, port = web.address  # something that is no Redis
    command("status", "--store", f"redis://127.0.0.1:{port}", "--name", "nobody", code=1)
    command("status", "--store", "memory:", code=2)


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
