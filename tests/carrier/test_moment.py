"""A copy of a running crawl is of one moment."""

import asyncio
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xxhash
import zstandard

from gossamer.control.shared_view import audited
from gossamer.control.stored_crawl import StoredCrawl, read_options
from gossamer.control.verify import verify
from gossamer.model import Outcome
from gossamer.stores.contract import KeptPage, Link, Pace, Settlement
from gossamer.stores.redis import DividedStore
from gossamer.stores.redis import export_part as exporting
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.branches import open_branches
from gossamer.stores.redis.export import export
from gossamer.stores.redis.export_part import PartCopy, Parts
from gossamer.stores.redis.export_state import PartState
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.open import open_reader
from gossamer.stores.redis.partitions import partition_of
from gossamer.stores.redis.post import Effects
from gossamer.stores.sqlite.file import make_tables
from gossamer.stores.sqlite.reader import SqliteReader
from gossamer.urls import Scope, parse_seed
from gossamer.worker.links import LinkFiler

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
            keep_pages = PartCopy._keep_pages
            worked: list[str] = []

            async def work_meanwhile(self: PartCopy, records: Mapping[int, bytes]) -> None:
                await keep_pages(self, records)
                if not worked:
                    worked.append(await lab.work(store, plan))

            monkeypatch.setattr(PartCopy, "_keep_pages", work_meanwhile)
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


@pytest.mark.req("D13")
def test_moments_of_partitions_that_do_not_fit_are_not_taken(
    lab: "Lab", crawl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL in one of them was found on a page that another has not visited."""
    rounds = 0

    async def program() -> int:
        async with lab.redis_store(crawl, plan := lab.plan(), 3) as store:
            await lab.work(store, plan, 20)
            catch_up = PartCopy.catch_up
            copied = asyncio.Event()
            worked: list[str] = []

            async def work_in_between(self: PartCopy) -> PartState:
                nonlocal rounds
                if ":0}" in repr(self):
                    rounds += 1
                    state = await catch_up(self)
                    copied.set()
                    return state
                await copied.wait()
                if ":1}" in repr(self) and not worked:
                    worked.append(await lab.work(store, plan, 100))
                return await catch_up(self)

            monkeypatch.setattr(PartCopy, "catch_up", work_in_between)
            return await check(lab.url, crawl)

    assert asyncio.run(program()) > 50
    assert rounds == 2


async def visit(store: DividedStore, link: Link, target: Link, *, redirect: bool) -> None:
    """Visit a seed from which one link leads on."""
    now = time.time()
    await store.plant([link], now)
    await store.prioritise([(one, 50.0) for one in await store.candidates(10)])
    await store.route([range(10)] * 10, now)
    tasks = (await store.lease(0, 10, now)).tasks
    (task,) = [task for task in tasks if task.url == link.url]
    body = link.url.encode()
    digest = xxhash.xxh3_128_digest(body)
    page = None
    if not redirect:
        claim = await store.claim(task, digest, None, now)
        page = KeptPage(
            page_id=claim.page_id or 0,
            size=len(body),
            digest=digest,
            content=zstandard.compress(body),
            fetched_at=now,
        )
    await store.settle(
        Settlement(
            task=task,
            outcome=Outcome.REDIRECTED if redirect else Outcome.FETCHED,
            size=len(body) if page else 0,
            page=page,
            links=[target],
            redirect=redirect,
            pace=Pace(ended=now),
        ),
        now,
    )


@pytest.mark.req("D13")
def test_news_on_its_way_between_partitions_is_no_breach(
    lab: "Lab", crawl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filer = LinkFiler(Scope.for_seeds("any", []), str)
    far, near, target = (filer.file(parse_seed(f"http://{name}.test/")) for name in "act")
    assert partition_of(near.domain, 2) != partition_of(target.domain, 2)

    async def nothing(*_: object) -> Effects:
        return Effects()

    async def depth() -> int:
        await check(lab.url, crawl)
        reader = await open_reader(parse_address(lab.url), crawl)
        (found,) = [one.depth async for one in reader.records() if one.url == target.url]
        await reader.close()
        return found

    async def program() -> list[int]:
        async with lab.redis_store(crawl, lab.plan(), 2) as store:
            assert isinstance(store, DividedStore)
            await store.join(0, time.time())
            await visit(store, far, target, redirect=False)
            with monkeypatch.context() as patch:
                patch.setattr(store._post, "deliver", nothing)
                await visit(store, near, target, redirect=True)
                before = await depth()
            await store.deliver_left(time.time())
            return [before, await depth()]

    assert asyncio.run(program()) == [1, 0]
