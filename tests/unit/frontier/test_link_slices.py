"""A page with very many links lets other steps go on, and becomes durable as a whole."""

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gossamer.frontier.contract import HostFeedback, Link, Settled, Settlement, Task
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.sqlite.rows import SqliteRows

RULES = FrontierRules(scheduler=SchedulerRules(delay_s=0.0))
MANY = 1_700
FAR = 5


def link(number: int) -> Link:
    domain = f"host{number % 7}.test"
    url = Url(f"http://{domain}/{number}")
    return Link(url, b"%-16d" % number, HostKey(domain), domain)


def settlement(task: Task) -> Settlement:
    links = [link(number) for number in (*range(1, MANY), 1, 0)]
    feedback = HostFeedback(ended=1.0, took_s=0.1)
    return Settlement(task=task, outcome=Outcome.UNWANTED_TYPE, links=links, feedback=feedback)


async def open_store(path: Path) -> tuple[Frontier, Task]:
    """Open a store with one URL, which is far from any seed, and lease that."""
    store = Frontier(SqliteRows(path), RULES, 0.0)
    await store.join(0, 0.0)
    await store.add_seeds([link(0)], 0.0, depth=FAR)
    await store.prioritise([(one, 0.0) for one in await store.candidates(1)])
    await store.route([range(10)], 0.0)
    (task,) = (await store.lease(0, 1, 0.0)).tasks
    await store.commit()
    return store, task


def committed(path: Path) -> int:
    """Return how many URLs another process sees."""
    with closing(sqlite3.connect(path)) as db:
        (urls,) = db.execute("SELECT count(*) FROM urls").fetchone()
        return int(urls)


def rows(path: Path) -> list[tuple[int, int, int]]:
    """Return id, depth and parent of all but the first URL."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT id, depth, parent FROM urls WHERE id > 1 ORDER BY id").fetchall()


def targets(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as db:
        (blob,) = db.execute("SELECT targets FROM urls WHERE id = 1").fetchone()
    return [*memoryview(blob).cast("q")]


@pytest.mark.req("B6")
def test_others_have_their_turn_and_nothing_of_it_is_durable_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "crawl.sqlite"
    turns: list[int] = []

    async def watch(store: Frontier, settling: "asyncio.Task[Settled]") -> None:
        while not settling.done():
            turns.append(len(await store.candidates(MANY)))
            assert await store.ended_by() is None
            assert committed(path) == 1, "a part of the page's links would survive a kill"
            await asyncio.sleep(0)

    async def main() -> None:
        store, task = await open_store(path)
        settling = asyncio.create_task(store.settle(settlement(task), 1.0))
        watching = asyncio.create_task(watch(store, settling))
        await asyncio.sleep(0)
        committing = asyncio.create_task(store.commit())
        settled = await settling
        await watching
        assert len(set(settled.new_links)) == len(settled.new_links) == MANY - 1
        await committing
        assert committed(path) == MANY
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 30))
    assert len({*turns} - {0, MANY - 1}) >= 2, "it was added in several slices"
    assert targets(path) == [*range(2, MANY + 1), 2, 1]
    assert rows(path) == [(number, FAR + 1, 1) for number in range(2, MANY + 1)]


def test_who_is_cancelled_has_settled_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "crawl.sqlite"

    async def main() -> None:
        store, task = await open_store(path)
        settling = asyncio.create_task(store.settle(settlement(task), 1.0))
        await asyncio.sleep(0)
        settling.cancel()
        with suppress(asyncio.CancelledError):
            await settling
        assert settling.cancelled()
        assert len(await store.candidates(2 * MANY)) == MANY - 1
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 30))
    assert len(targets(path)) == MANY + 1


@pytest.mark.req("B2")
def test_a_page_that_comes_nearer_meanwhile_takes_all_its_links_along(tmp_path: Path) -> None:
    path = tmp_path / "crawl.sqlite"

    async def main() -> None:
        store, task = await open_store(path)
        settling = asyncio.create_task(store.settle(settlement(task), 1.0))
        await asyncio.sleep(0)
        assert await store.add_seeds([link(0)], 1.0) == 0
        while await store.route([], 1.0):
            assert not settling.done()
        await settling
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 30))
    assert rows(path) == [(number, 1, 1) for number in range(2, MANY + 1)]
