"""A crawl moves between a file and a Redis, whole, and goes on there."""

import asyncio
import shutil
import sqlite3
import time
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.views.reading import (
    broken,
    explained,
    in_directory,
    in_redis,
    listed_pages,
    listed_urls,
    status,
)

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.embedded.directory import CrawlDirectory
from gossamer.stores.embedded.sqlite.band_table import COMPLETE_NOTE
from gossamer.stores.embedded.worker_registry import WORKERS_NOTE
from gossamer.stores.reading import ReadRequest
from gossamer.stores.redis.rules import PLACEHOLDER
from gossamer.stores.results import Record, pack_records
from gossamer.transfer.ends import migration_end
from gossamer.transfer.migrate import Migrated, migrate
from gossamer.transfer.restore import Restoration

if TYPE_CHECKING:
    from tests.transfer.conftest import CrawlLab

TABLES = (
    *("hosts", "domains", "urls", "relaxing", "attempts", "pages", "depth_changes"),
    *("contents", "sketches", "listings", "results", "notes"),
)


def move(source: str | Path, target: str | Path, crawl: str | None, **how: bool) -> Migrated:
    """Move a crawl from a path or a URL to another."""
    ends = [
        StoreAddress("sqlite", one) if isinstance(one, Path) else StoreAddress("redis", url=one)
        for one in (source, target)
    ]
    return migrate(
        migration_end(ends[0], crawl), migration_end(ends[1], crawl), lambda *_: None, **how
    )


def rows(directory: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything that is in the file of a crawl."""
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db:
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}  # noqa: S608


def endings(crawl: ReadRequest) -> dict[str, tuple[int, str | None]]:
    """Return how every URL of a sound crawl ended, and its depth."""
    assert broken(crawl) == {}
    return {one.url: (one.depth, one.outcome) for one in listed_urls(crawl)}


@pytest.fixture
def interrupted(lab: "CrawlLab", tmp_path: Path) -> Path:
    """The directory of a crawl that is not finished."""
    directory = tmp_path / "interrupted"
    path = directory / "crawl.sqlite"
    assert asyncio.run(lab.crawl_file(path, 40, similarity="0.9")) == "interrupted"
    return directory


@pytest.fixture
def straight(lab: "CrawlLab", tmp_path: Path) -> dict[str, tuple[int, str | None]]:
    """How every URL ends if nothing comes between."""
    directory = tmp_path / "straight"
    asyncio.run(lab.crawl_file(directory / "crawl.sqlite", similarity="0.9"))
    return endings(in_directory(directory))


@pytest.mark.req("D8")
def test_every_row_comes_back(
    lab: "CrawlLab", crawl: str, interrupted: Path, tmp_path: Path
) -> None:
    records = pack_records([Record("mine", b'{"n":1}'), Record("mine", b"{}")])
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        db.execute("UPDATE results SET records = ?, part = 2 WHERE number % 3 = 0", (records,))
        db.execute("UPDATE urls SET given_score = 7.5 WHERE id % 5 = 0")
    before = rows(interrupted)
    found = move(interrupted, lab.url, crawl)
    assert found.urls == len(before["urls"])
    assert found.pages == len(before["pages"])
    assert found.continue_with.endswith(f" --name {crawl}")
    back = tmp_path / "back"
    found = move(lab.url, back, crawl)
    assert found.continue_with == f"gossamer resume {back}"
    assert rows(interrupted) == before, "the source stays as it is"
    assert len(before["sketches"]) == len(before["pages"]) == len(before["results"]) >= 40
    after = rows(back)
    for name in TABLES:
        assert after[name] == before[name], name


@pytest.mark.req("D8", "D16")
def test_deaths_are_kept_and_workers_are_not(
    lab: "CrawlLab", crawl: str, interrupted: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        db.execute("UPDATE urls SET deaths = id % 3")
        db.execute("INSERT INTO notes VALUES (?, ?)", (WORKERS_NOTE, b"[]"))
    move(interrupted, lab.url, crawl)
    move(lab.url, tmp_path / "back", crawl)
    with closing(sqlite3.connect(tmp_path / "back" / "crawl.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM urls WHERE deaths <> id % 3").fetchone() == (0,)
        query = "SELECT count(*) FROM notes WHERE name = ?"
        assert db.execute(query, (WORKERS_NOTE,)).fetchone() == (0,)


@pytest.mark.req("D8", "D9")
def test_what_pages_are_compared_by_is_kept(
    lab: "CrawlLab", crawl: str, interrupted: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        db.execute("UPDATE sketches SET own = x'' WHERE page % 3 = 0")
        db.execute("UPDATE sketches SET own = sample WHERE page % 3 = 1")
        db.execute(
            "UPDATE urls SET outcome = 'similar', duplicate_of = 1, similarity = 0.9123, "
            "own_similarity = 1.0 WHERE page = 2"
        )
        (url,) = db.execute("SELECT id FROM urls WHERE page = 2").fetchone()
        db.execute("UPDATE attempts SET outcome = 'similar' WHERE url = ?", (url,))
        db.execute("INSERT INTO notes VALUES (?, x'33')", (COMPLETE_NOTE,))
        before = db.execute("SELECT page, own FROM sketches").fetchall()
    listed = listed_urls(in_directory(interrupted))
    assert {one.duplicate_of.similarity for one in listed if one.duplicate_of} >= {0.9123}
    move(interrupted, lab.url, crawl)
    assert listed_urls(in_redis(lab.url, crawl)) == listed
    move(lab.url, tmp_path / "back", crawl)
    assert listed_urls(in_directory(tmp_path / "back")) == listed
    with closing(sqlite3.connect(tmp_path / "back" / "crawl.sqlite")) as db:
        assert db.execute("SELECT page, own FROM sketches").fetchall() == before
        query = "SELECT count(*) FROM notes WHERE name = ?"
        assert db.execute(query, (COMPLETE_NOTE,)).fetchone() == (0,), "no band is in the table"


@pytest.mark.req("D8", "D12")
def test_it_goes_on_in_either_to_the_same_end(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    straight: dict[str, tuple[int, str | None]],
    tmp_path: Path,
) -> None:
    move(interrupted, lab.url, crawl)
    shared = in_redis(lab.url, crawl)
    assert len(endings(shared)) < len(straight)
    assert asyncio.run(lab.crawl(crawl, 80, similarity="0.9")) == "interrupted"
    back = tmp_path / "back"
    move(lab.url, back, crawl)
    assert asyncio.run(lab.crawl(crawl, similarity="0.9")) == "complete"
    assert endings(shared) == straight
    assert asyncio.run(lab.crawl_file(back / "crawl.sqlite", similarity="0.9")) == "complete"
    assert endings(in_directory(back)) == straight
    assert len(endings(in_directory(interrupted))) < len(straight)


@pytest.mark.req("D8")
def test_what_was_in_progress_waits_again(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    straight: dict[str, tuple[int, str | None]],
) -> None:
    """Nor is a duplicate of a page believed that was claimed and never kept."""
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        db.execute("UPDATE urls SET state = 3 WHERE id IN (SELECT id FROM urls WHERE state = 1)")
        db.execute("UPDATE notes SET value = CAST('no' AS BLOB) WHERE name = 'closed'")
        (gone,) = db.execute("SELECT url FROM pages WHERE id = 5").fetchone()
        db.execute("DELETE FROM pages WHERE id = 5")
        db.execute("DELETE FROM contents WHERE page = 5")
        db.execute("DELETE FROM sketches WHERE page = 5")
        db.execute("DELETE FROM results WHERE page = 5")
        db.execute(
            "UPDATE urls SET outcome = 'duplicate', page = NULL, duplicate_of = 5 WHERE id = ?",
            (gone,),
        )
        db.execute("UPDATE attempts SET outcome = 'duplicate' WHERE url = ?", (gone,))
        db.execute(
            "UPDATE notes SET value = CAST(CAST(value AS TEXT) - 1 AS BLOB) WHERE name = 'visits'"
        )
    move(interrupted, lab.url, crawl)
    assert asyncio.run(lab.crawl(crawl, similarity="0.9")) == "complete"
    shared = in_redis(lab.url, crawl)
    assert endings(shared) == straight
    assert 5 in {page.id for page in listed_pages(shared)}, "the number was given again"


@pytest.mark.req("D10")
def test_contents_are_kept_for_the_rest_of_their_time(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
) -> None:
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        for table, name in (("pages", "id"), ("contents", "page"), ("sketches", "page")):
            change = f"UPDATE {table} SET fetched_at = fetched_at - ? WHERE {name} = ?"  # noqa: S608
            db.executemany(change, [(3000, 1), (3700, 2)])
    move(interrupted, lab.url, crawl)

    async def look() -> list[int]:
        async with lab.client() as client:
            names = [f"{lab.key(crawl, 'content')}{number}" for number in (1, 2, 3)]
            return [await client.ttl(name) for name in names]

    old, expired, young = asyncio.run(look())
    assert 500 < old <= 600
    assert expired == -2, "it is not there"
    assert 3500 < young <= 3600


@pytest.mark.req("D2")
def test_the_moments_of_hosts_are_kept(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
) -> None:
    soon = time.time() + 2.0
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        db.execute("UPDATE hosts SET next_start = ?", (soon,))
    move(interrupted, lab.url, crawl)
    assert asyncio.run(lab.crawl(crawl, similarity="0.9")) == "complete"
    assert time.time() >= soon
    urls = listed_urls(in_redis(lab.url, crawl))
    later = [one for one in urls if (one.finished_at or 0) > soon - 1.9]
    assert len(later) > 10
    assert min(one.finished_at or 0 for one in later) >= soon


def test_depths_that_modules_do_not_know_are_told_there(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    tmp_path: Path,
) -> None:
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        db.execute("UPDATE pages SET reported_depth = reported_depth + 1 WHERE id = 3")
        db.execute("INSERT INTO depth_changes VALUES (3)")
        (depth,) = db.execute("SELECT reported_depth - 1 FROM pages WHERE id = 3").fetchone()
    move(interrupted, lab.url, crawl)

    async def ask() -> list[tuple[int, int]]:
        async with lab.redis_store(crawl, lab.plan()) as store:
            pending_depth_changes: list[tuple[int, int]] = await store.pending_depth_changes(9)
            return pending_depth_changes

    assert asyncio.run(ask()) == [(3, depth)]
    move(lab.url, tmp_path / "back", crawl)
    assert rows(tmp_path / "back")["pages"] == rows(interrupted)["pages"]


@pytest.mark.req("B2")
def test_shorter_paths_that_are_still_to_be_followed_go_with_it(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    tmp_path: Path,
) -> None:
    """A page has come nearer by much, and of its links the last is as far away as before."""
    with closing(sqlite3.connect(interrupted / "crawl.sqlite")) as db, db:
        child, url, parent, depth = db.execute(
            "SELECT id, url, parent, depth FROM urls WHERE state = 1 ORDER BY id DESC"
        ).fetchone()
        (targets,) = db.execute("SELECT targets FROM urls WHERE id = ?", (parent,)).fetchone()
        done = array("q", targets).index(child)
        db.execute("UPDATE urls SET depth = depth + 40 WHERE id = ?", (child,))
        db.execute(
            "INSERT INTO relaxing SELECT id, depth, hops, ? FROM urls WHERE id = ?", (done, parent)
        )
    assert broken(in_directory(interrupted)) == {}
    assert status(in_directory(interrupted)).relaxing
    move(interrupted, lab.url, crawl)
    assert broken(in_redis(lab.url, crawl)) == {}
    assert status(in_redis(lab.url, crawl)).relaxing
    assert explained(in_redis(lab.url, crawl), url).relaxing
    move(lab.url, tmp_path / "back", crawl)
    assert rows(tmp_path / "back")["relaxing"] == rows(interrupted)["relaxing"] != []
    assert asyncio.run(lab.crawl(crawl, similarity="0.9")) == "complete"
    assert endings(in_redis(lab.url, crawl))[url][0] == depth
    assert not status(in_redis(lab.url, crawl)).relaxing


def test_a_crawl_that_somebody_works_on_stays_where_it_is(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    tmp_path: Path,
) -> None:
    with CrawlDirectory(interrupted), pytest.raises(CrawlError, match="is crawling into"):
        move(interrupted, lab.url, crawl)
    with closing(sqlite3.connect(interrupted / "crawl.sqlite", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(CrawlError, match="let it end first"):
            move(interrupted, lab.url, crawl)
    move(interrupted, lab.url, crawl)

    async def join() -> None:
        async with lab.redis_store(crawl, lab.plan()) as store:
            await store.join(0, time.time())
            raise lab.died

    asyncio.run(join())
    with pytest.raises(CrawlError, match="is worked on"):
        move(lab.url, tmp_path / "other", crawl)
    with pytest.raises(CrawlError, match="is worked on"):
        move(interrupted, lab.url, crawl, replace=True)
    assert not (tmp_path / "other").exists()


def test_what_is_there_is_replaced_only_on_request(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    tmp_path: Path,
) -> None:
    move(interrupted, lab.url, crawl)
    with pytest.raises(UsageError, match="--replace"):
        move(interrupted, lab.url, crawl)
    copy = Path(shutil.copytree(interrupted, tmp_path / "copy"))
    with pytest.raises(UsageError, match="--replace"):
        move(lab.url, copy, crawl)
    asyncio.run(lab.crawl(crawl, similarity="0.9"))
    move(lab.url, copy, crawl, replace=True)
    assert len(rows(copy)["pages"]) > len(rows(interrupted)["pages"])
    move(interrupted, lab.url, crawl, replace=True)
    assert len(endings(in_redis(lab.url, crawl))) == len(rows(interrupted)["urls"])


def test_what_fails_leaves_nothing_behind(
    lab: "CrawlLab",
    crawl: str,
    interrupted: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(_self: object) -> None:
        async with lab.client() as client:
            assert await client.exists(lab.key(crawl, "urls"))
        with pytest.raises(CrawlError, match="does not hold a crawl of this version"):
            await lab.crawl(crawl)
        raise CrawlError("the lights went out")

    monkeypatch.setattr(Restoration, "bodies", fail)
    with pytest.raises(CrawlError, match="lights"):
        move(interrupted, lab.url, crawl)

    async def left() -> Iterator[bytes]:
        async with lab.client() as client:
            return iter([name async for name in client.scan_iter(match=f"*{crawl}*")])

    assert list(asyncio.run(left())) == []


def test_what_a_killed_migration_has_left_is_no_crawl_and_may_be_replaced(
    lab: "CrawlLab", crawl: str, interrupted: Path
) -> None:
    async def leave_half_of_it() -> None:
        async with lab.client() as client:
            await client.set(lab.key(crawl, "rules"), PLACEHOLDER)
            await client.hset(lab.key(crawl, "urls"), "100000", "half of it")

    asyncio.run(leave_half_of_it())
    with pytest.raises(UsageError, match="--replace"):
        move(interrupted, lab.url, crawl)
    move(interrupted, lab.url, crawl, replace=True)
    assert len(endings(in_redis(lab.url, crawl))) == len(rows(interrupted)["urls"])


@pytest.mark.req("D14")
def test_budgets_hold_after_a_move(lab: "CrawlLab", crawl: str, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    limits = {"max-pages": 60}
    asyncio.run(lab.crawl_file(begun / "crawl.sqlite", 40, **limits))
    move(begun, lab.url, crawl)
    before, after = status(in_directory(begun)), status(in_redis(lab.url, crawl))
    assert (after.received, after.bytes) == (before.received, before.bytes)
    assert after.received > after.bytes > 0
    assert after.url_queue_peak == before.url_queue_peak > 0
    assert asyncio.run(lab.crawl(crawl, **limits)) == "max-pages"
    shared = in_redis(lab.url, crawl)
    assert broken(shared) == {}
    assert status(shared).pages == 60


def test_there_must_be_a_crawl(lab: "CrawlLab", crawl: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no crawl"):
        move(tmp_path / "nothing", lab.url, crawl)
    with pytest.raises(CrawlError, match="no crawl with the name"):
        move(lab.url, tmp_path / "new", crawl)
    with pytest.raises(UsageError, match="memory"):
        migration_end(StoreAddress("memory"), None)
    with pytest.raises(UsageError, match="not a valid name for a crawl"):
        migration_end(StoreAddress("redis", url=lab.url), "a b")
    assert list(tmp_path.iterdir()) == []


def test_sitemaps_and_what_was_given_with_links_move_too(
    lab: "CrawlLab", crawl: str, interrupted: Path, tmp_path: Path
) -> None:
    directory, back = interrupted, tmp_path / "back"
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db, db:
        db.execute("UPDATE urls SET given_score = 7.5 WHERE id = 2")
        db.executemany(
            "INSERT INTO listings VALUES (?, ?, ?, ?)",
            [(3, 86_400.0, None, None), (4, None, 1.0, None), (5, None, None, "a.test")],
        )
        db.execute("INSERT OR REPLACE INTO notes VALUES ('listed', x'32'), ('reading', x'31')")
    move(directory, lab.url, crawl)
    move(lab.url, back, crawl)
    before, after = rows(directory), rows(back)
    assert after["listings"] == before["listings"] != []
    assert [row[-1] for row in after["urls"]] == [row[-1] for row in before["urls"]]
    assert status(in_directory(back)).listed == 2
