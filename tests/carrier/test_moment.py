"""A copy of a running crawl is of one moment."""

import asyncio
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.control.shared_view import audited
from gossamer.control.stored_crawl import StoredCrawl, read_options
from gossamer.control.verify import verify
from gossamer.stores.redis import export_part as exporting
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.branches import open_branches
from gossamer.stores.redis.export import export
from gossamer.stores.redis.export_part import PartCopy, Parts
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.sqlite.file import make_tables
from gossamer.stores.sqlite.reader import SqliteReader

if TYPE_CHECKING:
    from tests.carrier.conftest import Lab


async def check(url: str, crawl: str) -> int:
    """Copy the crawl, hold every rule against the copy, and return how many URLs it has."""
    with closing(sqlite3.connect("", isolation_level=None)) as tables:
        make_tables(tables)
        tables.execute("BEGIN")
        async with open_branches(Nodes(parse_address(url)), crawl) as (agreed, branches):
            wanted = Parts(links=True, bodies=True)
            copied = await export(branches, agreed.rules, tables, wanted)
            audit = await audited(branches, tables, copied)
        reader = SqliteReader(tables)
        one = StoredCrawl(
            name=crawl,
            results=None,
            connection=tables,
            reader=reader,
            options=read_options(reader, crawl),
            running=copied.is_running,
            closed=copied.is_closed,
            audit=audit,
        )
        assert [found for found in verify(one, time.time()).findings if found.broken] == []
        return int(copied.counts["urls"])


@pytest.mark.req("D13")
@pytest.mark.parametrize("partitions", [1, 3], ids=["whole", "divided"])
@pytest.mark.parametrize(("at_once", "few"), [(1000, 2000), (20, 10)], ids=["at once", "piecemeal"])
def test_every_rule_holds_while_others_work(
    lab: "Lab",
    crawl: str,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    few: int,
    partitions: int,
) -> None:
    monkeypatch.setattr(exporting, "URLS_AT_ONCE", at_once)
    monkeypatch.setattr(exporting, "BODIES_AT_ONCE", at_once)
    monkeypatch.setattr(exporting, "FEW", few)

    async def program() -> list[int]:
        seen = []
        async with lab.redis_store(crawl, plan := lab.plan(), partitions) as store:
            working = asyncio.create_task(lab.work(store, plan))
            while not working.done():
                seen.append(await check(lab.url, crawl))
            assert await working == "complete"
        return seen

    seen = asyncio.run(program())
    assert len(set(seen)) > 2, "it was looked at while it grew"


def test_what_is_done_behind_the_copy_is_in_it(
    lab: "Lab",
    crawl: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def program() -> tuple[int, int]:
        async with lab.redis_store(crawl, plan := lab.plan()) as store, lab.client() as client:
            await lab.work(store, plan, 20)
            copy_pages = PartCopy._copy_pages
            worked: list[str] = []

            async def work_meanwhile(self: PartCopy, numbers: Iterable[int]) -> None:
                await copy_pages(self, numbers)
                if not worked:
                    worked.append(await lab.work(store, plan))

            monkeypatch.setattr(PartCopy, "_copy_pages", work_meanwhile)
            urls = await check(lab.url, crawl)
            return urls, int(await client.hget(key(crawl, "counts"), "urls") or 0)

    urls, there = asyncio.run(program())
    assert urls == there > 100


def test_nothing_stays_behind(lab: "Lab", crawl: str) -> None:
    async def program() -> tuple[int, int]:
        await lab.crawl(crawl, 20)
        async with lab.client() as client:
            await check(lab.url, crawl)
            await lab.crawl(crawl)
            names = (key(crawl, "watched"), key(crawl, "changed"))
            return await client.ttl(names[0]), await client.ttl(names[1])

    watched_s, changed_s = asyncio.run(program())
    assert 0 < watched_s <= exporting.WATCH_S
    assert 0 < changed_s <= exporting.NOTED_S
