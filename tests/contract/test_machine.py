"""Random histories of a crawl, each step held against a simple model of what must be true.

steps.py takes each step in the store and in the model; here it is drawn which, and what must be
true after each of them.
"""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.contract.driver import WAITING, StoreDriver
from tests.contract.model_state import CONTENTS, NAMES
from tests.contract.steps import CheckedStore

from gossamer.frontier.contract import HostFeedback
from gossamer.frontier.hosts import HostLimitRule
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model import Outcome
from gossamer.stores import columns
from gossamer.stores.url_record import UrlState

a_name = st.sampled_from(NAMES)
a_content = st.sampled_from(sorted(CONTENTS))
a_score = st.sampled_from([0.0, 5.0, 10.0, 50.0, 100.0])
some_names = st.lists(a_name, max_size=6)
some_bytes = st.sampled_from([0, 0, 10, 100, 1000])
a_jump = st.sampled_from([0.1, 0.4, 1.0, 2.5, 8.0, 31.0, 61.0, 130.0, 301.0, 3601.0])
some_connections = st.sampled_from([1, 3, 4])
HOST_RULES = (
    HostLimitRule(host="b.test", delay_s=0.0, auto_delay=False, connections=2, max_pages=3),
    HostLimitRule(host="c.test", delay_s=2.0, auto_delay=True, max_depth=1),
    HostLimitRule(host="a.test", is_wild=True, delay_s=0.5, auto_delay=False, max_depth=4),
)
some_rules = st.builds(
    FrontierRules,
    scheduler=st.builds(
        SchedulerRules,
        delay_s=st.sampled_from([0.0, 0.0, 1.0]),
        auto_delay=st.booleans(),
        host_rules=st.sampled_from([(), (), HOST_RULES]),
        host_connections=some_connections,
        url_queue=st.sampled_from([10_000, 10_000, 1, 4]),
        worker_queue=st.sampled_from([1, 2, 5, 1000]),
    ),
    max_depth=st.sampled_from([None, 1, 2, 3]),
    max_pages=st.sampled_from([1000, 1000, 1000, 3]),
    max_bytes=st.sampled_from([10_000_000, 10_000_000, 350, 50]),
    max_task_bytes=st.just(100),
    revisit_s=st.sampled_from([math.inf, 3600.0, 100.0]),
    keep_s=st.sampled_from([math.inf, 3600.0]),
    similarity=st.sampled_from([0.9, 0.9, 0.5, 1.0, None]),
    relaxed_at_once=st.sampled_from([1, 3, 200]),
)
PACES: dict[str, dict[str, Any]] = {
    "plain": {},
    "failed": {"failed": True},
    "asks for a minute": {"failed": True, "retry_after_s": 60.0},
    "asks for ten years": {"failed": True, "retry_after_s": 3e8},
    "asks for pauses": {"crawl_delay_s": 3.0},
    "asks for none": {"crawl_delay_s": 0.0},
    "is slow": {"took_s": 2.0},
    "is quick": {"took_s": 0.01},
    "has too much to do": {"took_s": 0.1, "overloaded": True},
}
a_pace = st.sampled_from([*["plain"] * 10, *PACES])
STEPS = ["move on"] * 5 + ["succeed"] * 6 + ["fail"] * 3 + ["live on"] * 4
STEPS += ["one step", "one step", "too late", "acquire_robots_slot", "dismiss", "retry"]
STATES = {
    **dict.fromkeys(WAITING, "waiting"),
    UrlState.LEASED: "in progress",
    UrlState.DONE: "finished",
    UrlState.TOO_DEEP: "too_deep",
}


class StoreMachine(RuleBasedStateMachine):
    """A store driven at random."""

    make_store: Callable[[str, Path, FrontierRules], StoreDriver]
    kind: str
    strict: bool

    @initialize(rules=some_rules, seeds=st.lists(a_name, min_size=1, max_size=8))
    def open(self, rules: FrontierRules, seeds: list[str]) -> None:
        scheduler = msgspec.structs.replace(
            rules.scheduler,
            strict=self.strict,
            auto_delay=rules.scheduler.auto_delay and rules.scheduler.delay_s > 0,
        )
        rules = msgspec.structs.replace(rules, scheduler=scheduler)
        self.folder = tempfile.TemporaryDirectory()
        self.driver = self.make_store(self.kind, Path(self.folder.name), rules)
        self.checked = CheckedStore(self.driver)
        self.model = self.checked.model
        self.checked.join(0)
        self.checked.add_seeds(seeds)

    @rule(data=st.data(), what=st.sampled_from(STEPS))
    def go_on(self, data: st.DataObject, what: str) -> None:
        """Do something; all in one rule, or else most histories would lack what leads anywhere."""
        if what in {"succeed", "fail"} and not self.model.held:
            what = "move on"
        match what:
            case "move on":
                self._move_on(data)
            case "one step":
                self._take_one_step(data)
            case "succeed":
                self._succeed(data)
            case "fail":
                self._fail(data)
            case "too late" if self.model.lost:
                self.checked.come_too_late(data.draw(st.sampled_from(self.model.lost[-20:])))
            case "dismiss":
                self._dismiss(data)
            case "retry":
                outcome = data.draw(st.sampled_from([Outcome.NOT_FOUND, Outcome.GAVE_UP]))
                hosts = data.draw(st.lists(st.sampled_from(["a", "x.a", "b"]), max_size=2))
                self.checked.retry_failed(outcome, hosts)
            case "acquire_robots_slot":
                host = data.draw(st.sampled_from(["a", "b", "elsewhere"]))
                self.checked.acquire_or_release_slot(host, self._feedback(data))
            case _:
                self._live_on(data)

    def _dismiss(self, data: st.DataObject) -> None:
        """Let a worker die, with or without a culprit, which is not always one of its URLs."""
        worker = data.draw(st.sampled_from([0, 0, 0, 1, 2, 3]))
        names = sorted(self.model.held) or sorted(self.model.urls)
        culprit = data.draw(st.sampled_from([None, *names]))
        received, times = data.draw(some_bytes), 1 + data.draw(st.booleans())
        self.checked.dismiss(worker, culprit, received, times)
        if not self.model.alive or data.draw(st.booleans()):
            self.checked.join(worker)

    def _take_one_step(self, data: st.DataObject) -> None:
        """Take one of the steps that `_move_on` takes together."""
        step = data.draw(st.sampled_from(["add_seeds", "prioritise", "route", "join", "lease"]))
        worker = data.draw(st.integers(0, 3))
        match step:
            case "add_seeds":
                self.checked.add_seeds(data.draw(some_names))
            case "prioritise":
                self._prioritise(data)
            case "route":
                order = data.draw(st.permutations(range(10)))
                self.checked.route(order, data.draw(st.integers(1, 4)))
            case "join":
                self.checked.join(worker)
            case _:
                self.checked.lease(worker, data.draw(st.integers(1, 6)))

    def _move_on(self, data: st.DataObject) -> None:
        """Take everything as far as it gets, or else few histories would get anywhere."""
        worker, limit = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 6))
        self._prioritise(data)
        self.checked.route(list(range(10)), 8)
        if not self.checked.lease(worker if worker in self.model.alive else 0, limit):
            self.driver.now += 1

    def _prioritise(self, data: st.DataObject) -> None:
        self.checked.prioritise(lambda: data.draw(a_score), 1 + data.draw(st.booleans()))

    def _succeed(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.held)))
        match data.draw(st.sampled_from(["page", "page", "page", "redirect", "claim"])):
            case "page":
                content, links = data.draw(a_content), data.draw(some_names)
                self.checked.settle_page(name, content, links, self._feedback(data))
            case "redirect":
                self.checked.settle_redirect(name, data.draw(a_name))
            case _:
                self.checked.claim(name, data.draw(a_content))

    def _fail(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.held)))
        feedback = self._feedback(data) if data.draw(st.booleans()) else None
        received = data.draw(some_bytes)
        match data.draw(st.sampled_from(["missing", "retry", "back", "renew"])):
            case "missing":
                self.checked.settle_without_a_page(name, feedback, received)
            case "retry":
                self.checked.settle_for_a_retry(name, self._feedback(data), received)
            case "back":
                self.checked.release(name, feedback, received)
            case _:
                self.checked.renew(name)

    def _feedback(self, data: st.DataObject) -> HostFeedback:
        return HostFeedback(ended=self.driver.now, **PACES[data.draw(a_pace)])

    def _live_on(self, data: st.DataObject) -> None:
        steps = [*["wait"] * 3, "reap", *["commit"] * 2, "take over", "end in order", "crash"]
        match data.draw(st.sampled_from(steps)):
            case "wait":
                self.driver.now += data.draw(a_jump)
            case "reap":
                self.checked.reap()
            case "commit":
                self.checked.commit()
                if data.draw(st.booleans()):  # nothing changes when all memory is dropped
                    self.checked.take_over()
            case "take over":
                self._draw_connections(data)
                self.checked.take_over()
            case "crash":
                self._draw_connections(data)
                self.checked.crash()
                self.checked.join(0)
            case _:
                self._draw_connections(data)
                self.checked.end_in_order()
                self.checked.join(0)

    def _draw_connections(self, data: st.DataObject) -> None:
        if data.draw(st.booleans()):
            self.checked.change_connections(data.draw(some_connections))

    # -- what must be true -----------------------------------------------------------------------

    @invariant()
    def every_url_is_where_it_must_be(self) -> None:
        if not hasattr(self, "driver"):
            return
        records, urls = self.driver.records(), self.model.urls
        lags = self.driver.relaxing()
        assert {name: STATES[record.state] for name, record in records.items()} == {
            name: self.model.state_at(name, records[name].depth) for name in urls
        }
        assert {name: (one.outcome, one.attempts) for name, one in records.items()} == {
            name: (url.outcome, url.attempts) for name, url in urls.items()
        }
        for name, record in records.items():
            assert record.depth >= urls[name].depth if lags else record.depth == urls[name].depth

    @invariant()
    def the_modules_hear_of_every_depth(self) -> None:
        if not hasattr(self, "driver") or self.driver.relaxing():
            return
        pending = dict(self.driver.pending_depth_changes())
        for url in self.model.urls.values():
            if url.page is not None and url.page in self.model.kept.shown:
                known = self.model.kept.shown[url.page]
                assert pending.get(url.page, known) == url.depth

    @invariant()
    def the_counters_agree(self) -> None:
        if not hasattr(self, "driver"):
            return
        self.driver.assert_counts_agree()
        snapshot = self.driver.snapshot()
        assert snapshot.bytes == self.model.kept.bytes
        assert snapshot.received == self.model.kept.received <= self.model.rules.max_bytes
        assert snapshot.pages == len(self.model.kept.pages)
        assert snapshot.visits == self.model.kept.visits <= self.model.rules.max_pages

    @invariant()
    def the_workers_are_known(self) -> None:
        if hasattr(self, "driver"):
            self.checked.check_workers()

    @invariant()
    def pages_are_as_they_were_kept(self) -> None:
        if not hasattr(self, "driver"):
            return
        pages = {page.id: self.driver.name_of(page.url) for page in self.driver.setup.pages()}
        assert pages == {number: name for number, (name, _, _) in self.model.kept.pages.items()}

    @invariant()
    def the_log_has_what_was_settled_once_and_in_order(self) -> None:
        if not hasattr(self, "driver"):
            return
        names = {record.id: name for name, record in self.driver.records().items()}
        results = self.driver.results()
        logged = [(names[one.url_id], one.page_id, one.records) for one in results]
        assert logged == self.model.kept.results
        assert [one.number for one in results] == [*range(1, len(results) + 1)]

    def teardown(self) -> None:
        if hasattr(self, "driver"):
            try:
                self.driver.relax()
                self.every_url_is_where_it_must_be()
                self._crawl_to_the_end()
            finally:
                self.driver.setup.close()
                self.folder.cleanup()

    def _crawl_to_the_end(self) -> None:
        """From wherever it stands, a crawl can be brought to its end: nobody waits for ever."""
        driver = self.driver
        for host in list(self.model.taken_slots):
            driver.release_robots_slot(host, HostFeedback(ended=driver.now))
        for held in self.model.held.values():
            driver.release(held.task)
        driver.join(0)
        for _ in range(400):
            if driver.ended_by() is not None:
                break
            driver.relax()
            driver.score()
            driver.route()
            tasks = driver.lease(0)
            for task in tasks:
                driver.settle(task, Outcome.GONE, feedback=HostFeedback(ended=driver.now))
            if not tasks:
                driver.now += 30
                driver.join(0)
                driver.reap()
        assert driver.ended_by() is not None, repr(driver.store)
        driver.assert_counts_agree()


@pytest.mark.req("B1", "B2", "B3", "B9", "D6", "D11", "D14", "D16")
@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("sqlite", 30),
        ("sqlite with short heads", 15),
        ("channel", 6),
        ("redis", 12),
    ],
)
@pytest.mark.parametrize("strict", [False, True], ids=["drawn", "strict"])
def test_any_history(
    kind: str,
    examples: int,
    strict: bool,
    chaos_seed: int,
    monkeypatch: pytest.MonkeyPatch,
    make_store: Callable[[str, Path, FrontierRules], StoreDriver],
) -> None:
    if kind in {"sqlite with short heads", "redis"}:
        monkeypatch.setattr(columns, "BLOCK", 3)
    more = {"kind": kind, "strict": strict, "make_store": staticmethod(make_store)}
    machine = type("StoreMachine", (StoreMachine,), more)
    bounds = settings(max_examples=examples, stateful_step_count=40)
    run_state_machine_as_test(machine, settings=bounds)
