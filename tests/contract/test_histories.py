"""Random histories of a crawl's store, held against a simple model, for every embedded store."""

import copy
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
import xxhash
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from gossamer.frontier.desk import DeskRules
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Link, Pace, Place, Settlement, Task
from gossamer.stores.embedded import EmbeddedStore, StoreRules
from gossamer.stores.memory import MemoryShelf
from gossamer.stores.shelf import Shelf
from gossamer.stores.sqlite import SqliteShelf

Result = TypeVar("Result")

DELAY_S = 10.0
HOSTS = 2
URLS = 12
MAX_PAGES = 6
WAITING = {Place.UNSCORED, Place.SHELVED, Place.DEALT}
ALL_QUEUES = [tuple(range(3))] * 8


def now_or_never(step: Coroutine[Any, Any, Result]) -> Result:
    """Run a method of an embedded store: it never waits."""
    try:
        step.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("an embedded store waited")


def link(number: int) -> Link:
    host = HostKey(f"h{number % HOSTS}.test")
    url = Url(f"http://{host}/{number}")
    return Link(url, xxhash.xxh3_128_digest(url.encode()), host, host)


@dataclass
class Model:
    """What must be true, as simply as it can be said."""

    depth: dict[Url, int] = field(default_factory=dict)
    links: dict[Url, list[Url]] = field(default_factory=dict)
    """Of the finished URLs."""
    outcome: dict[Url, Outcome] = field(default_factory=dict)
    pages: int = 0
    rested: dict[HostKey, float] = field(default_factory=dict)

    def add(self, url: Url, depth: int) -> None:
        """A URL was found: it and all that is reached over it come nearer."""
        if depth < self.depth.get(url, 10**9):
            self.depth[url] = depth
            for target in self.links.get(url, []):
                self.add(target, depth + 1)


class Histories(RuleBasedStateMachine):
    """Drives one store through anything that can happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        self.model = Model()
        self.committed = copy.deepcopy(self.model)
        self.held: dict[Url, Task] = {}
        self.lost: list[Task] = []
        self.newest = 0
        self.open()

    def make_shelf(self) -> Shelf:
        raise NotImplementedError

    def crash_shelf(self) -> None:
        """Lose what a killed process loses."""
        raise NotImplementedError

    def open(self) -> None:
        self.shelf = self.make_shelf()
        rules = StoreRules(
            desk=DeskRules(queues=3, delay_s=DELAY_S, worker_queue=4, lease_s=60.0),
            max_pages=MAX_PAGES,
            max_bytes=MAX_PAGES * 100,
            max_page_bytes=100,
            ttl_s=1e9,
        )
        self.store = EmbeddedStore(self.shelf, rules, self.now)
        for worker in range(2):
            now_or_never(self.store.join(worker, self.now))

    @rule(number=st.integers(0, URLS - 1))
    def plant(self, number: int) -> None:
        one = link(number)
        known = one.url in self.model.depth
        assert now_or_never(self.store.plant([one], self.now)) == (not known)
        self.model.add(one.url, 0)

    @rule(scores=st.lists(st.floats(0, 100), min_size=1, max_size=5))
    def prioritise_and_route(self, scores: list[float]) -> None:
        candidates = now_or_never(self.store.candidates(len(scores)))
        now_or_never(self.store.prioritise(list(zip(candidates, scores, strict=False))))
        now_or_never(self.store.route(ALL_QUEUES, self.now))

    @rule(worker=st.integers(0, 1), limit=st.integers(1, 4))
    def lease(self, worker: int, limit: int) -> None:
        leased = now_or_never(self.store.lease(worker, limit, self.now))
        for task in leased.tasks:
            assert task.url not in self.held, "in work already"
            assert task.url not in self.model.outcome, "finished already"
            assert task.lease > self.newest, "lease numbers grow"
            self.newest = task.lease
            assert task.host not in {one.host for one in self.held.values()}, "one at a time"
            assert self.model.rested.get(task.host, 0.0) <= self.now, "too early"
            self.held[task.url] = task
        assert self.model.pages + len(self.held) <= MAX_PAGES, "over the budget"

    @rule(data=st.data(), numbers=st.lists(st.integers(0, URLS - 1), max_size=4))
    def settle(self, data: st.DataObject, numbers: list[int]) -> None:
        if not self.held:
            return
        task = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        found = [link(number) for number in dict.fromkeys(numbers)]
        settlement = Settlement(
            task=task, outcome=Outcome.NOT_FOUND, links=found, pace=Pace(ended=self.now)
        )
        assert now_or_never(self.store.settle(settlement, self.now)).accepted
        assert not now_or_never(self.store.settle(settlement, self.now)).accepted, "twice"
        self.model.outcome[task.url] = Outcome.NOT_FOUND
        self.model.rested[task.host] = self.now + DELAY_S
        self.model.links[task.url] = [one.url for one in found]
        for one in found:
            self.model.add(one.url, self.model.depth[task.url] + 1)
        self.lost.append(task)

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        if not self.held:
            return
        task = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        assert now_or_never(self.store.put_back(task, Pace(ended=self.now), self.now))
        self.model.rested[task.host] = self.now + DELAY_S
        self.lost.append(task)

    @rule()
    def late_workers_are_refused(self) -> None:
        for task in self.lost[-5:]:
            late = Settlement(task=task, outcome=Outcome.GONE, pace=Pace(ended=self.now))
            assert not now_or_never(self.store.settle(late, self.now)).accepted
            assert not now_or_never(self.store.put_back(task, None, self.now))
            assert now_or_never(self.store.renew([task], self.now)) == [task]

    @rule(seconds=st.sampled_from([0.5, 5.0, 10.0, 40.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        now_or_never(self.store.renew(list(self.held.values()), self.now))

    @rule()
    def leases_run_out(self) -> None:
        self.now += 61.0
        now_or_never(self.store.reap(self.now))
        for task in self.held.values():
            self.model.rested[task.host] = self.now + DELAY_S
        self.lost += self.held.values()
        self.held.clear()

    @rule()
    def commit(self) -> None:
        now_or_never(self.store.commit())
        self.committed = copy.deepcopy(self.model)

    @rule()
    def crash(self) -> None:
        self.crash_shelf()
        self.lost += self.held.values()
        self.held.clear()
        self.open()
        # Nobody knows when a host was last asked.
        self.model.rested = {link(n).host: self.now + DELAY_S for n in range(HOSTS)}
        self.model.rested = {
            host: moment
            for host, moment in self.model.rested.items()
            if any(host in url for url in self.model.depth)
        }
        self.committed = copy.deepcopy(self.model)

    @invariant()
    def every_url_stands_in_one_place(self) -> None:
        records = {record.url: record for record in self.shelf.records()}
        assert records.keys() == self.model.depth.keys()
        for url, record in records.items():
            assert record.depth == self.model.depth[url], "the shortest path"
            if url in self.model.outcome:
                assert record.place is Place.FINISHED
            elif url in self.held:
                assert record.place is Place.IN_WORK
            else:
                assert record.place in WAITING
        snapshot = now_or_never(self.store.snapshot(self.now))
        assert snapshot.finished == len(self.model.outcome)
        assert snapshot.in_work == len(self.held)
        assert snapshot.waiting == len(records) - snapshot.finished - snapshot.in_work

    def teardown(self) -> None:
        now_or_never(self.store.close())


class MemoryHistories(Histories):
    """The shelf is all there is; a crash takes the desk away."""

    def __init__(self) -> None:
        self.kept = MemoryShelf()
        super().__init__()

    def make_shelf(self) -> Shelf:
        return self.kept

    def crash_shelf(self) -> None:
        """Everything that was written is there."""


class SqliteHistories(Histories):
    """A crash loses what was not committed."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().__init__()

    def make_shelf(self) -> Shelf:
        return SqliteShelf(Path(self.folder.name) / "crawl.sqlite", cached_links=5)

    def crash_shelf(self) -> None:
        assert isinstance(self.shelf, SqliteShelf)
        self.shelf._db.close()  # as a killed process does: without a commit
        self.model = copy.deepcopy(self.committed)

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


@pytest.mark.req("B1", "B2", "B3", "D6", "D11", "D14", "D16")
@pytest.mark.parametrize("machine", [MemoryHistories, SqliteHistories])
def test_any_history_keeps_the_promises(machine: type[Histories]) -> None:
    bounds = settings(max_examples=100, stateful_step_count=40, deadline=None)
    run_state_machine_as_test(machine, settings=bounds)
