"""Prioritiser and router, one step at a time."""

import asyncio
import time
from collections.abc import Sequence

import msgspec
import pytest

from gossamer.frontier.router import SCORED_AT_ONCE, Draw, QueueTable, Router
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import Candidate, Url
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.urls import Scope
from gossamer.worker.link_filter import LinkFilter

FILTER = LinkFilter(Scope.for_prefix(Url("http://a.test/")), str)


class Counting:
    """A scorer that notes how much it is given at once."""

    name = "counting"
    strict = False

    def __init__(self) -> None:
        self.given: list[int] = []
        self.calls: asyncio.Queue[int] = asyncio.Queue()

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        self.given.append(len(candidates))
        self.calls.put_nowait(len(candidates))
        return [float(candidate.id % 100) for candidate in candidates]


def frontier(
    urls: int, scorer: Counting, *, worker_queue: int = 10_000
) -> tuple[Router, Frontier, list[None]]:
    rules = FrontierRules(scheduler=SchedulerRules(delay_s=0.0, worker_queue=worker_queue))
    store = Frontier(SqliteRows(), rules, time.time())
    seeds = [FILTER.file(Url(f"http://a.test/{number}")) for number in range(urls)]
    asyncio.run(store.add_seeds(seeds, time.time()))
    asyncio.run(store.join(0, time.time()))
    assigned: list[None] = []
    draw = Draw(QueueTable(10), 0)
    made = Router(store, scorer, draw, time.time, lambda: assigned.append(None))
    return made, store, assigned


async def steps(made: Router) -> int:
    """Step until there is nothing to do any more; return how often there was."""
    count = 0
    while await made.step():
        count += 1
    return count


@pytest.mark.req("D2")
def test_a_score_that_came_with_a_link_counts_instead_of_the_scorers() -> None:
    made, store, _ = frontier(2, Counting())
    given = msgspec.structs.replace(FILTER.file(Url("http://a.test/given")), score=7.5)
    asyncio.run(store.add_seeds([given], time.time()))
    asyncio.run(made.step())
    assert [one.score for one in store.records()] == [1.0, 2.0, 7.5]


@pytest.mark.req("D2", "D3")
def test_a_long_queue_is_scored_in_portions() -> None:
    scorer = Counting()
    made, store, assigned = frontier(1200, scorer)
    count = asyncio.run(steps(made))
    assert max(scorer.given) == SCORED_AT_ONCE
    assert sum(scorer.given) == 1200
    assert len(assigned) == count
    assert store._state.waiting == 1200


@pytest.mark.req("D5", "D7")
def test_a_full_worker_queue_leaves_the_rest_where_it_is() -> None:
    made, store, _ = frontier(100, Counting(), worker_queue=8)
    asyncio.run(steps(made))
    snapshot = asyncio.run(store.snapshot(time.time()))
    leased = asyncio.run(store.lease(0, 100, time.time()))
    assert snapshot.waiting == 100
    assert len(leased.tasks) == 1, "one request at a time"
    assert store._scheduler.assigned <= 8


def test_it_sleeps_until_it_is_woken() -> None:
    scorer = Counting()
    made, store, _ = frontier(3, scorer)

    async def program() -> None:
        running = asyncio.create_task(made.run())
        assert await scorer.calls.get() == 3
        await asyncio.sleep(0.01)
        link_filter = LinkFilter(Scope.for_prefix(Url("http://a.test/")), str)
        await store.add_seeds([link_filter.file(Url("http://a.test/new"))], time.time())
        await asyncio.sleep(0.01)
        assert scorer.given == [3]
        made.wake()
        assert await scorer.calls.get() == 1
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(program(), 5))
