"""A copy of a running crawl is a consistent snapshot."""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.views.reading import in_redis

from gossamer.stores.redis.counters import read_counters
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.keys import key
from gossamer.transfer import export as exporting
from gossamer.views.crawl_tables import open_tables
from gossamer.views.verify import verify

if TYPE_CHECKING:
    from tests.transfer.conftest import CrawlLab


async def check(url: str, crawl: str) -> int:
    """Copy the crawl, check the copy, and return how many URLs it has."""
    async with open_tables(in_redis(url, crawl)) as tables:
        found = await verify(tables, time.time())
    assert [one for one in found.findings if one.broken] == []
    return found.urls


@pytest.mark.req("D13")
@pytest.mark.parametrize(("at_once", "few"), [(1000, 2000), (20, 10)], ids=["at once", "piecemeal"])
def test_every_rule_holds_while_others_work(
    lab: "CrawlLab",
    crawl: str,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    few: int,
) -> None:
    monkeypatch.setattr(exporting, "URLS_AT_ONCE", at_once)
    monkeypatch.setattr(exporting, "BODIES_AT_ONCE", at_once)
    monkeypatch.setattr(exporting, "FEW", few)

    async def program() -> list[int]:
        seen = []
        async with lab.redis_store(crawl, plan := lab.plan()) as store:
            working = asyncio.create_task(lab.work(store, plan))
            while not working.done():
                seen.append(await check(lab.url, crawl))
            assert await working == "complete"
        return seen

    seen = asyncio.run(program())
    assert len(set(seen)) > 2, "it was copied while it grew"


def test_what_is_done_behind_the_copy_is_in_it(
    lab: "CrawlLab",
    crawl: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def program() -> tuple[int, int]:
        async with lab.redis_store(crawl, plan := lab.plan()) as store, lab.client() as client:
            await lab.work(store, plan, 20)
            copy_pages = exporting._Copy._copy_pages
            worked: list[str] = []

            async def work_meanwhile(self: exporting._Copy, numbers: Iterable[int]) -> None:
                await copy_pages(self, numbers)
                if not worked:
                    worked.append(await lab.work(store, plan))

            monkeypatch.setattr(exporting._Copy, "_copy_pages", work_meanwhile)
            urls = await check(lab.url, crawl)
            return urls, int((await read_counters(CrawlClient(client, crawl)))["urls"])

    urls, there = asyncio.run(program())
    assert urls == there > 100


def test_nothing_stays_behind(lab: "CrawlLab", crawl: str) -> None:
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
