"""A crawl moves into partitions, out of them and between them, whole, and goes on there."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.config import StoreAddress
from gossamer.control.havens import haven
from gossamer.control.migrate import Migrated, migrate
from gossamer.control.shared_view import open_shared_crawl
from gossamer.control.stored_crawl import StoredCrawl, View, open_crawl
from gossamer.control.verify import verify
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.redis import DividedStore
from gossamer.stores.redis.restore_part import PartRestoration
from gossamer.stores.redis.rules import placeholder

if TYPE_CHECKING:
    from tests.carrier.conftest import Lab

WHOLE = View(links=True, audit=True)
Endings = dict[str, tuple[int, str | None]]


def move(
    source: str | Path,
    target: str | Path,
    crawl: str,
    partitions: int | None = None,
    *,
    replace: bool = False,
) -> Migrated:
    """Move a crawl from a path or a URL to another."""
    ends = [
        StoreAddress("sqlite", one) if isinstance(one, Path) else StoreAddress("redis", url=one)
        for one in (source, target)
    ]
    to = haven(ends[1], crawl, partitions=partitions)
    return migrate(haven(ends[0], crawl), to, lambda *_: None, replace=replace)


def endings(crawl: StoredCrawl) -> Endings:
    """Return how every URL of a sound crawl ended, and its depth."""
    assert [one for one in verify(crawl, time.time()).findings if one.broken] == []
    return {one.url: (one.depth, one.outcome) for one in crawl.reader.urls()}


def shared(lab: "Lab", crawl: str) -> Endings:
    with open_shared_crawl(lab.url, crawl, WHOLE) as found:
        return endings(found)


def filed(directory: Path) -> Endings:
    with open_crawl(directory) as found:
        return endings(found)


def attempts(directory: Path) -> list[tuple[object, ...]]:
    """Return every attempt, every page and every path of a crawl in a file."""
    with open_crawl(directory) as found:
        db = found.connection
        tried = db.execute(
            "SELECT urls.url, at, attempts.outcome, cause, status "
            "FROM attempts JOIN urls ON urls.id = attempts.url ORDER BY 1, 2"
        ).fetchall()
        pages = db.execute(
            "SELECT pages.id, urls.url, size, digest, body, bands, sample FROM pages "
            "JOIN urls ON urls.id = pages.url JOIN contents ON contents.page = pages.id "
            "JOIN sketches ON sketches.page = pages.id ORDER BY 1"
        ).fetchall()
        paths = db.execute(
            "SELECT one.url, other.url, one.score, one.found_at, length(one.targets) "
            "FROM urls AS one LEFT JOIN urls AS other ON other.id = one.parent ORDER BY 1"
        ).fetchall()
        hosts = db.execute(
            "SELECT key, next_start, requests, failures, took_s FROM hosts ORDER BY 1"
        ).fetchall()
        return [*tried, *pages, *paths, *hosts]


@pytest.fixture
def straight(lab: "Lab", tmp_path: Path) -> Endings:
    """How every URL ends if nothing comes between."""
    directory = tmp_path / "straight"
    asyncio.run(lab.crawl_file(directory / "crawl.sqlite", similarity="0.9"))
    return filed(directory)


@pytest.mark.req("D8", "D12")
def test_it_goes_on_wherever_it_is_to_the_same_end(
    lab: "Lab", crawl: str, straight: Endings, tmp_path: Path
) -> None:
    begun, back = tmp_path / "begun", tmp_path / "back"
    asyncio.run(lab.crawl_file(begun / "crawl.sqlite", 40, similarity="0.9"))
    found = move(begun, lab.url, crawl, 3)
    assert found.continue_with[-2:] == ["--partitions", "3"]
    assert shared(lab, crawl) == filed(begun)

    assert asyncio.run(lab.crawl(crawl, 80, similarity="0.9")) == "interrupted"
    halfway = shared(lab, crawl)
    assert len(filed(begun)) < len(halfway)
    move(lab.url, back, crawl)
    assert filed(back) == halfway
    move(lab.url, lab.url, crawl, replace=True)  # in its place, no longer divided
    assert shared(lab, crawl) == halfway
    divided = f"{crawl}-divided"
    move(back, lab.url, divided, 5)
    assert shared(lab, divided) == halfway

    for name in (crawl, divided):
        assert asyncio.run(lab.crawl(name, similarity="0.9")) == "complete"
        assert shared(lab, name) == straight
    assert asyncio.run(lab.crawl_file(back / "crawl.sqlite", similarity="0.9")) == "complete"
    assert filed(back) == straight


@pytest.mark.req("D8")
def test_everything_comes_back(lab: "Lab", crawl: str, tmp_path: Path) -> None:
    begun, back = tmp_path / "begun", tmp_path / "back"
    asyncio.run(lab.crawl_file(begun / "crawl.sqlite", 40, similarity="0.9"))
    move(begun, lab.url, crawl, 3)
    move(lab.url, back, crawl)
    assert attempts(back) == attempts(begun)
    assert len(attempts(back)) > 100


@pytest.mark.req("D14")
def test_budgets_hold_after_a_move(lab: "Lab", crawl: str, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    limits = {"max-pages": 60, "max-bytes": "10GB"}
    asyncio.run(lab.crawl_file(begun / "crawl.sqlite", 40, **limits))
    with open_crawl(begun) as found:
        left = 60 - found.reader.page_count()
    move(begun, lab.url, crawl, 3)
    unknown = f"{crawl}-2"
    move(begun, lab.url, unknown, 3)

    async def ask_for_too_much() -> tuple[int, int]:
        async with lab.redis_store(unknown, lab.plan(**limits)) as store:
            assert isinstance(store, DividedStore)
            granted: tuple[int, int] = await store.centre.grant(0, 1000, [], time.time())
            return granted

    assert asyncio.run(ask_for_too_much()) == (left, left)
    assert asyncio.run(lab.crawl(crawl, None, 3, **limits)) == "max-pages"
    with open_shared_crawl(lab.url, crawl, WHOLE) as found:
        endings(found)
        assert found.reader.page_count() == 60


def test_what_a_dead_process_has_left_between_partitions_comes_along(
    lab: "Lab",
    crawl: str,
    straight: Endings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def die() -> None:
        plan = lab.plan(similarity="0.9")
        async with lab.redis_store(crawl, plan, 3) as store:
            await lab.work(store, plan, 10)
        async with lab.redis_store(crawl, plan) as store:
            assert isinstance(store, DividedStore)
            monkeypatch.setattr(store._post, "deliver", lost)
            monkeypatch.setattr(store._post, "deliver_since", nothing)
            with pytest.raises(lab.died):
                await lab.work(store, plan)
            assert (await store.look()).undelivered()
            raise lab.died

    async def lost(*_: object) -> None:
        raise lab.died

    async def nothing(*_: object) -> None:
        pass

    asyncio.run(die())
    with pytest.raises(CrawlError, match="is worked on: stop"):
        move(lab.url, tmp_path / "back", crawl)

    async def wait() -> None:
        async with lab.client() as client:
            for part in range(3):
                await client.delete(lab.key(crawl, "seen", part))

    asyncio.run(wait())
    left = shared(lab, crawl)
    move(lab.url, tmp_path / "back", crawl)
    assert len(filed(tmp_path / "back")) >= len(left)
    path = tmp_path / "back" / "crawl.sqlite"
    assert asyncio.run(lab.crawl_file(path, similarity="0.9")) == "complete"
    assert filed(tmp_path / "back") == straight


def test_what_fails_leaves_nothing_behind(
    lab: "Lab", crawl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    asyncio.run(lab.crawl_file(begun / "crawl.sqlite", 20))
    restored = PartRestoration.bodies
    calls: list[PartRestoration] = []

    async def fail(self: PartRestoration) -> None:
        calls.append(self)
        await restored(self)
        if len(calls) == 2:
            raise CrawlError("the lights went out")

    monkeypatch.setattr(PartRestoration, "bodies", fail)
    with pytest.raises(CrawlError, match="lights"):
        move(begun, lab.url, crawl, 3)

    async def left() -> list[bytes]:
        async with lab.client() as client:
            return [name async for name in client.scan_iter(match=f"*{crawl}*")]

    assert asyncio.run(left()) == []

    async def kill() -> None:
        async with lab.client() as client:
            await client.set(lab.key(crawl, "rules"), placeholder(3))
            await client.set(lab.key(crawl, "urls", 2), "half of it")

    asyncio.run(kill())
    monkeypatch.undo()
    move(begun, lab.url, crawl, 2, replace=True)
    assert not [name for name in asyncio.run(left()) if f"{crawl}:2".encode() in name]
    with pytest.raises(UsageError, match="only a crawl in a shared store"):
        move(begun, tmp_path / "other", crawl, 3)
    with pytest.raises(UsageError, match="1 to 256"):
        move(begun, lab.url, crawl, 257)
