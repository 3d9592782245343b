"""Random histories of a crawl, each step held against a simple model of what must be true.

The model shares no code with the stores: it is a dictionary of URLs, a few counters, and the rules
written down once more as plainly as possible. Which URL is handed out is the store's to decide;
the model checks that it was allowed to, and takes over the rest.
"""

import copy
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from gossamer.content.similarity import Sketch
from gossamer.frontier import DeskRules
from gossamer.model import Outcome
from gossamer.stores import StoreRules
from gossamer.stores.contract import Pace, Place, Task

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

NAMES = [f"{host}/{page}" for host in ("a", "x.a", "b", "c") for page in range(6)]
CONTENTS = {"one": None, "two": 0, "three": 20, "four": 100, "five": 115, "six": 5}
"""What pages may say, and how far the sketch of that differs from those of the others."""
PARTS = 255
SAME = 2.0
"""More than any likeness: the content is the same."""
WAITING = {Place.UNSCORED, Place.SHELVED, Place.DEALT}

a_name = st.sampled_from(NAMES)
a_content = st.sampled_from(sorted(CONTENTS))
some_names = st.lists(a_name, max_size=6)
a_jump = st.sampled_from([0.1, 0.4, 1.0, 2.5, 8.0, 31.0, 61.0, 130.0, 301.0, 3601.0])


some_rules = st.builds(
    StoreRules,
    desk=st.builds(
        DeskRules,
        delay_s=st.sampled_from([0.0, 0.0, 1.0]),
        host_connections=st.sampled_from([1, 3]),
        worker_queue=st.sampled_from([1, 2, 5, 1000]),
    ),
    max_depth=st.sampled_from([None, 1, 2, 3]),
    max_pages=st.sampled_from([1000, 1000, 1000, 3]),
    max_bytes=st.sampled_from([10_000_000, 10_000_000, 350, 50]),
    max_page_bytes=st.just(100),
    similarity=st.sampled_from([0.9, 0.9, 0.5, 1.0, None]),
)

STEPS = ["move on"] * 5 + ["succeed"] * 6 + ["fail"] * 3 + ["live on"] * 4
STEPS += ["one step", "one step", "too late", "borrow"]


def host_of(name: str) -> str:
    return name.partition("/")[0]


def domain_of(name: str) -> str:
    return host_of(name).split(".")[-1]


@dataclass
class ModelUrl:
    state: str = "waiting"
    depth: int = 0
    hops: int = 0
    outcome: Outcome | None = None
    finished_at: float = math.inf
    targets: list[str] = field(default_factory=list)
    redirect: bool = False
    page: int | None = None
    twin: int | None = None
    attempts: int = 0
    deaths: int = 0
    """How many workers have died on it."""


@dataclass
class ModelHost:
    crawl_delay: float = 0.0
    next_start: float = -math.inf
    failures: int = 0


@dataclass
class Held:
    task: Task
    worker: int
    deadline: float
    number: int | None = None
    content: str | None = None
    refused_by: str | None = None
    """Whose claim it was refused for."""
    twin: int | None = None
    repeats: Outcome = Outcome.DUPLICATE


@dataclass
class Durable:
    """What outlasts a process."""

    urls: dict[str, ModelUrl] = field(default_factory=dict)
    hosts: dict[str, ModelHost] = field(default_factory=dict)
    pages: dict[int, tuple[str, str, float]] = field(default_factory=dict)
    """URL, content and when it was fetched."""
    bytes: int = 0


def likeness(one: str, other: str) -> float:
    """Return how much the contents resemble each other, from 0 to 1."""
    changed, its = CONTENTS[one], CONTENTS[other]
    if changed is None or its is None:
        return 0.0
    return 1.0 if changed == its else 1 - max(changed, its) / PARTS


class Model:
    """What must be true."""

    def __init__(self, rules: StoreRules) -> None:
        self.rules = rules
        self.kept = Durable()
        self.saved = Durable()
        self.held: dict[str, Held] = {}
        self.lost: list[Task] = []
        self.owner: dict[str, int] = {}
        self.kept_until: dict[str, float] = {}
        self.alive: dict[int, float] = {}
        self.borrowed: list[str] = []
        self.last_lease: dict[str, int] = {}

    @property
    def urls(self) -> dict[str, ModelUrl]:
        return self.kept.urls

    def host(self, name: str) -> ModelHost:
        return self.kept.hosts.setdefault(host_of(name), ModelHost())

    def delay(self, name: str) -> float:
        return max(self.rules.desk.delay_s, self.host(name).crawl_delay)

    def in_work(self, name: str) -> int:
        held = sum(host_of(other) == host_of(name) for other in self.held)
        return held + self.borrowed.count(host_of(name))

    # -- links -----------------------------------------------------------------------------------

    def is_within(self, depth: int) -> bool:
        return self.rules.max_depth is None or depth <= self.rules.max_depth

    def add(self, names: list[str], depth: int, hops: int, now: float, *, seeds: bool) -> None:
        for name in names:
            if name not in self.urls:
                state = "waiting" if self.is_within(depth) else "beyond"
                self.urls[name] = ModelUrl(state, depth, hops)
        for name in names:
            self.bring_nearer(name, depth, hops)
        self.relax()
        for name in names:
            url = self.urls[name]
            if not seeds and url.finished_at <= now - self.rules.ttl_s:
                self.visit_again(name)

    def bring_nearer(self, name: str, depth: int, hops: int) -> bool:
        url = self.urls[name]
        if (depth, hops) >= (url.depth, url.hops):
            return False
        url.depth, url.hops = depth, hops
        if url.state == "beyond" and self.is_within(depth):
            url.state = "waiting"
        return True

    def relax(self) -> None:
        """Go over all links until nothing changes."""
        changed = True
        while changed:
            changed = False
            for url in self.urls.values():
                step = (url.depth, url.hops + 1) if url.redirect else (url.depth + 1, 0)
                for target in url.targets:
                    changed |= self.bring_nearer(target, *step)

    def visit_again(self, name: str) -> None:
        url = self.urls[name]
        url.state, url.outcome, url.finished_at, url.twin = "waiting", None, math.inf, None

    # -- leases ----------------------------------------------------------------------------------

    def check_lease(self, name: str, task: Task, worker: int, now: float) -> None:
        url, host, domain = self.urls[name], self.host(name), domain_of(name)
        assert url.state == "waiting"
        assert task.lease > self.last_lease.get(domain, -1)
        assert (task.depth, task.hops, task.attempt) == (url.depth, url.hops, url.attempts + 1)
        delay = self.delay(name)
        assert now >= host.next_start, f"{name} is asked {host.next_start - now} s too early"
        places = 1 if delay > 0 else self.rules.desk.host_connections
        assert self.in_work(name) < places
        for other, held in self.held.items():
            assert domain_of(other) != domain or held.worker == worker, "a domain in two hands"
        if self.kept_until.get(domain, -math.inf) > now and self.owner[domain] in self.alive:
            assert self.owner[domain] == worker, "a domain was taken away from its worker"
        reserved = len(self.held) + 1
        page_bytes = min(self.rules.max_page_bytes, self.rules.max_bytes)
        assert len(self.kept.pages) + reserved <= self.rules.max_pages
        assert self.kept.bytes + reserved * page_bytes <= self.rules.max_bytes

    def lease(self, name: str, task: Task, worker: int, now: float) -> None:
        self.check_lease(name, task, worker, now)
        self.urls[name].state = "in work"
        self.last_lease[domain_of(name)] = task.lease
        self.owner[domain_of(name)] = worker
        self.held[name] = Held(task, worker, now + self.rules.desk.lease_s)

    def end(self, name: str, now: float) -> Held:
        held = self.held.pop(name)
        self.lost.append(held.task)
        self.kept_until[domain_of(name)] = now + self.rules.desk.domain_ttl_s
        return held

    def rest(self, name: str, pace: Pace) -> None:
        host = self.host(name)
        if pace.crawl_delay_s is not None:
            host.crawl_delay = pace.crawl_delay_s
        host.failures = host.failures + 1 if pace.failed else 0
        pause = self.delay(name)
        if pace.failed:
            pause = max(pause, min(300.0, max(pause, 0.5) * 2 ** (host.failures - 1)))
        if pace.retry_after_s is not None:
            pause = max(pause, min(pace.retry_after_s, 3600.0))
        host.next_start = max(host.next_start, pace.ended + pause)

    def wait_again(self, name: str) -> None:
        self.urls[name].state = "waiting"

    def give_up_claim(self, held: Held, name: str) -> None:
        """The page is not kept: its number is free, and its duplicates must be seen again."""
        if held.number is None:
            return
        for other in self.held.values():
            if other.refused_by == name:
                other.refused_by = "nobody"
        for other_name, url in self.urls.items():
            if url.state == "finished" and url.twin == held.number:
                self.visit_again(other_name)

    def comparable(self, content: str, now: float) -> dict[int, float]:
        """Return the pages, kept or claimed, that this content repeats, and how exactly."""
        others = {
            number: kept
            for number, (_, kept, at) in self.kept.pages.items()
            if at > now - self.rules.ttl_s
        }
        others |= {
            other.number: other.content
            for other in self.held.values()
            if other.number is not None and other.content is not None
        }
        how = {
            number: SAME if other == content else likeness(content, other)
            for number, other in others.items()
        }
        least = self.rules.similarity or 0.0
        return {number: one for number, one in how.items() if one >= least}

    def leave(self, name: str, pace: Pace | None, now: float) -> None:
        """A task is given back."""
        held = self.end(name, now)
        if pace is None:
            host = self.host(name)
            host.next_start = max(host.next_start, now + self.delay(name))
        else:
            self.rest(name, pace)
        self.wait_again(name)
        self.give_up_claim(held, name)

    def finish(self, name: str, outcome: Outcome, now: float) -> Held:
        held = self.end(name, now)
        url = self.urls[name]
        url.state, url.outcome, url.finished_at, url.attempts = (
            "finished",
            outcome,
            now,
            url.attempts + 1,
        )
        url.targets, url.redirect, url.page, url.twin = [], False, None, None
        return held

    # -- the end of a process --------------------------------------------------------------------

    def stop(
        self, now: float, *, crashed: bool, forgets: bool, forgets_hosts: bool, lines: int
    ) -> None:
        if crashed and forgets:
            self.kept = copy.deepcopy(self.saved)
        for name, url in self.urls.items():
            if url.state == "in work":
                url.state = "waiting"
            if url.twin is not None and url.twin not in self.kept.pages:
                self.visit_again(name)
        if crashed and forgets_hosts:
            self.kept.hosts = copy.deepcopy(self.saved.hosts)
        busy = {domain_of(name) for name in [*self.held, *(f"{one}/" for one in self.borrowed)]}
        if crashed or (busy and lines == 1):
            self.distrust(now)
        elif busy:  # other partitions know when they last asked
            self.distrust(now, busy)
        self.lost += [held.task for held in self.held.values()]
        self.held.clear()
        self.borrowed.clear()
        self.owner.clear()
        self.kept_until.clear()
        self.alive.clear()
        self.last_lease = {}

    def distrust(self, now: float, domains: set[str] | None = None) -> None:
        """Nobody knows when a host was last asked, one of these domains or any."""
        for name in [*NAMES, "elsewhere/"]:
            if domains is not None and domain_of(name) not in domains:
                continue
            host = self.host(name)
            host.next_start = max(host.next_start, now + self.delay(name))


class Machine(RuleBasedStateMachine):
    """A store driven at random."""

    make_lab: "Callable[[str, Path, StoreRules], Lab]"
    make_sketch: "Callable[..., Sketch]"
    kind: str
    strict: bool

    @initialize(rules=some_rules, seeds=st.lists(a_name, min_size=1, max_size=8))
    def open(self, rules: StoreRules, seeds: list[str]) -> None:
        desk = msgspec.structs.replace(rules.desk, strict=self.strict)
        rules = msgspec.structs.replace(rules, desk=desk)
        self.folder = tempfile.TemporaryDirectory()
        self.lab = self.make_lab(self.kind, Path(self.folder.name), rules)
        self.forgets = self.lab.backend.forgets_the_uncommitted
        self.forgets_hosts = self.lab.backend.forgets_hosts
        self.model = Model(rules)
        self._join(0)
        self._plant(seeds)

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
                self._come_too_late(data)
            case "borrow":
                self._borrow_or_hand_back(data)
            case _:
                self._live_on(data)

    # -- the frontier ----------------------------------------------------------------------------

    def _plant(self, names: list[str]) -> None:
        before = sum(url.state == "waiting" for url in self.model.urls.values())
        new = self.lab.plant(*names)
        self.model.add(names, 0, 0, self.lab.now, seeds=True)
        assert new == sum(url.state == "waiting" for url in self.model.urls.values()) - before

    def _take_one_step(self, data: st.DataObject) -> None:
        """Take one of the steps that `_move_on` takes together."""
        step = data.draw(st.sampled_from(["plant", "prioritise", "route", "join", "lease"]))
        worker = data.draw(st.integers(0, 3))
        match step:
            case "plant":
                self._plant(data.draw(some_names))
            case "prioritise":
                self._prioritise(data)
            case "route":
                self._route(data.draw(st.permutations(range(10))), data.draw(st.integers(1, 4)))
            case "join":
                self._join(worker)
            case _:
                self._lease(worker, data.draw(st.integers(1, 6)))

    def _move_on(self, data: st.DataObject) -> None:
        """Take everything as far as it gets, or else few histories would get anywhere."""
        worker, limit = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 6))
        self._prioritise(data)
        self._route(list(range(10)), 8)
        if not self._lease(worker if worker in self.model.alive else 0, limit):
            self.lab.now += 1

    def _prioritise(self, data: st.DataObject) -> None:
        found = self.lab.candidates()
        scores = [data.draw(st.sampled_from([0.0, 5.0, 10.0, 50.0, 100.0])) for _ in found]
        for _ in range(1 + data.draw(st.booleans())):
            self.lab.prioritise(list(zip(found, scores, strict=True)))
        assert self.lab.candidates() == []

    def _route(self, order: list[int], draws: int) -> None:
        self.lab.deal([sorted(order) if self.strict else order] * draws)
        limit = self.model.rules.desk.worker_queue
        assert self.lab.dealt() <= max(limit, self.lab.backend.lines) * len(self.model.alive)

    # -- the workers -----------------------------------------------------------------------------

    def _join(self, worker: int) -> None:
        self.lab.join(worker)
        self.model.alive[worker] = self.lab.now

    def _lease(self, worker: int, limit: int) -> int:
        if worker not in self.model.alive:
            return 0
        self.model.alive[worker] = self.lab.now
        scores = {name: record.score for name, record in self.lab.records().items()}
        tasks = self.lab.lease(worker, limit)
        for task in tasks:
            name = self.lab.name(task)
            if self.strict:
                self._assert_is_best_of_host(name, scores)
            self.model.lease(name, task, worker, self.lab.now)
        return len(tasks)

    def _assert_is_best_of_host(self, name: str, scores: dict[str, float | None]) -> None:
        for other, url in self.model.urls.items():
            if url.state == "waiting" and host_of(other) == host_of(name):
                mine, its = scores[name], scores[other]
                assert mine is not None
                assert its is not None
                assert mine <= its, f"{name} goes before {other}"

    def _succeed(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.held)))
        match data.draw(st.sampled_from(["page", "page", "page", "redirect", "claim"])):
            case "page":
                self._settle_page(data, name)
            case "redirect":
                self._settle_redirect(name, data.draw(a_name))
            case _:
                content = data.draw(a_content)
                self._claim(name, self.model.held[name], content)

    def _fail(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.held)))
        pace = self._pace(data) if data.draw(st.booleans()) else None
        match data.draw(st.sampled_from(["missing", "retry", "back", "renew"])):
            case "missing":
                self._settle_without_a_page(name, pace)
            case "retry":
                self._settle_for_a_retry(name, self._pace(data))
            case "back":
                assert self.lab.put_back(self.model.held[name].task, pace)
                self.model.leave(name, pace, self.lab.now)
            case _:
                held = self.model.held[name]
                assert self.lab.renew(held.task) == []
                held.deadline = self.lab.now + self.model.rules.desk.lease_s

    def _claim(self, name: str, held: Held, content: str) -> None:
        claim = self.lab.claim(held.task, content, self._sketch(content))
        assert not claim.lost
        if held.number is not None:
            assert claim.page_id == held.number, "a second claim got another answer"
            return
        model = self.model
        like = model.comparable(content, self.lab.now)
        if model.rules.similarity is None or not like:
            taken = set(model.kept.pages) | {other.number for other in model.held.values()}
            free = next(number for number in range(1, 1000) if number not in taken)
            assert claim.page_id == free, "a number was left out or given twice"
            held.number, held.content = claim.page_id, content
            held.twin = held.refused_by = None
            return
        assert claim.page_id is None
        assert claim.twin_of is not None
        best = max(like.values())
        assert like[claim.twin_of] == best
        assert claim.similarity == (None if best == SAME else pytest.approx(best))
        if best != SAME:
            assert claim.twin_of == min(one for one, how in like.items() if how == best)
        held.twin = claim.twin_of
        held.repeats = Outcome.DUPLICATE if best == SAME else Outcome.SIMILAR
        rivals = {other.number: rival for rival, other in model.held.items()}
        held.refused_by = rivals.get(claim.twin_of)

    def _sketch(self, content: str) -> Sketch | None:
        changed = CONTENTS[content]
        return None if changed is None else self.make_sketch("the family", changed)

    def _settle_page(self, data: st.DataObject, name: str) -> None:
        held, pace = self.model.held[name], self._pace(data)
        self._claim(name, held, held.content or data.draw(a_content))
        if held.number is None:
            self._settle_duplicate(name, held, pace)
        else:
            self._settle_kept(name, held, pace, data.draw(some_names))

    def _settle_duplicate(self, name: str, held: Held, pace: Pace) -> None:
        now, model = self.lab.now, self.model
        self.lab.settle(held.task, held.repeats, size=20, pace=pace)
        model.kept.bytes += 20
        model.rest(name, pace)
        if held.refused_by == "nobody":
            model.end(name, now)
            model.urls[name].attempts += 1
            model.wait_again(name)
        else:
            model.finish(name, held.repeats, now)
            model.urls[name].twin = held.twin

    def _settle_kept(self, name: str, held: Held, pace: Pace, names: list[str]) -> None:
        now, model, number = self.lab.now, self.model, held.number
        assert number is not None
        assert held.content is not None
        depths = {url.page: url.depth for url in model.urls.values()}
        settled = self.lab.keep(
            held.task,
            names,
            content=held.content,
            sketch=self._sketch(held.content),
            pace=pace,
            size=30,
        )
        assert settled.accepted
        model.kept.bytes += 30
        model.rest(name, pace)
        model.finish(name, Outcome.FETCHED, now)
        model.kept.pages[number] = (name, held.content, now)
        for other in model.held.values():
            if other.refused_by == name:
                other.refused_by = None
        url = model.urls[name]
        url.page, url.targets = number, names
        model.add(names, url.depth + 1, 0, now, seeds=False)
        depths[number] = held.task.depth
        assert set(settled.nearer) == {
            (other.page, other.depth)
            for other in model.urls.values()
            if other.page is not None and depths[other.page] > other.depth
        }

    def _settle_redirect(self, name: str, to: str) -> None:
        model, held = self.model, self.model.held[name]
        assert self.lab.redirect(held.task, to).accepted
        model.rest(name, Pace(ended=self.lab.now))
        model.finish(name, Outcome.REDIRECTED, self.lab.now)
        url = model.urls[name]
        url.targets, url.redirect = [to], True
        model.add([to], url.depth, url.hops + 1, self.lab.now, seeds=False)
        model.give_up_claim(held, name)

    def _settle_without_a_page(self, name: str, pace: Pace | None) -> None:
        held = self.model.held[name]
        assert self.lab.settle(held.task, Outcome.NOT_FOUND, pace=pace).accepted
        if pace is not None:
            self.model.rest(name, pace)
        self.model.finish(name, Outcome.NOT_FOUND, self.lab.now)
        self.model.give_up_claim(held, name)

    def _settle_for_a_retry(self, name: str, pace: Pace) -> None:
        held = self.model.held[name]
        assert self.lab.settle(held.task, Outcome.TIMED_OUT, retry=True, pace=pace).accepted
        self.model.rest(name, pace)
        self.model.end(name, self.lab.now)
        self.model.urls[name].attempts += 1
        self.model.wait_again(name)
        self.model.give_up_claim(held, name)

    def _pace(self, data: st.DataObject) -> Pace:
        kinds: dict[str, dict[str, Any]] = {
            "plain": {},
            "failed": {"failed": True},
            "asks for a minute": {"failed": True, "retry_after_s": 60.0},
            "asks for ten years": {"failed": True, "retry_after_s": 3e8},
            "asks for pauses": {"crawl_delay_s": 3.0},
            "asks for none": {"crawl_delay_s": 0.0},
        }
        kind = data.draw(st.sampled_from([*["plain"] * 10, *kinds]))
        return Pace(ended=self.lab.now, **kinds[kind])

    def _come_too_late(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.model.lost[-20:]))
        before = list(self.lab.records().values())
        assert self.lab.renew(task) == [task]
        assert self.lab.claim(task).lost
        assert not self.lab.settle(task, Outcome.GONE, pace=Pace(ended=self.lab.now)).accepted
        assert not self.lab.put_back(task)
        assert list(self.lab.records().values()) == before

    def _borrow_or_hand_back(self, data: st.DataObject) -> None:
        host = data.draw(st.sampled_from(["a", "b", "elsewhere"]))
        name, model, now = f"{host}/", self.model, self.lab.now
        if host in model.borrowed:
            pace = self._pace(data)
            self.lab.hand_back(host, pace)
            model.rest(name, pace)
            model.borrowed.remove(host)
            return
        moment = self.lab.borrow(host)
        places = 1 if model.delay(name) > 0 else model.rules.desk.host_connections
        is_free = model.in_work(name) < places
        assert (moment is None) == (is_free and now >= model.host(name).next_start)
        if moment is None:
            model.borrowed.append(host)
        else:
            assert moment > now

    # -- time and death --------------------------------------------------------------------------

    def _live_on(self, data: st.DataObject) -> None:
        steps = ["wait", "wait", "wait", "reap", "commit", "commit", "end in order", "crash"]
        match data.draw(st.sampled_from(steps)):
            case "wait":
                self.lab.now += data.draw(a_jump)
            case "reap":
                self._reap()
            case "commit":
                self.lab.commit()
                self.model.saved = copy.deepcopy(self.model.kept)
            case "crash":
                self.lab.crash()
                self._stop(crashed=True)
                self._join(0)
            case _:
                self.lab.reopen()
                self._stop(crashed=False)
                self.model.saved = copy.deepcopy(self.model.kept)
                self._join(0)

    def _stop(self, *, crashed: bool) -> None:
        self.model.stop(
            self.lab.now,
            crashed=crashed,
            forgets=self.forgets,
            forgets_hosts=self.forgets_hosts,
            lines=self.lab.backend.lines,
        )

    def _reap(self) -> None:
        self.lab.reap()
        now, model = self.lab.now, self.model
        for name, held in list(model.held.items()):
            if held.deadline <= now:
                url = model.urls[name]
                url.deaths += model.alive[held.worker] + model.rules.desk.lease_s <= now
                model.leave(name, None, now)
                if self.lab.backend.gives_up_poison and url.deaths >= 3:
                    url.state, url.outcome, url.finished_at = "finished", Outcome.GAVE_UP, now
                    url.targets, url.redirect, url.page, url.twin = [], False, None, None
                    url.attempts += 1
        busy = {held.worker for held in model.held.values()}
        for worker, seen_at in list(model.alive.items()):
            if seen_at + model.rules.desk.lease_s <= now and worker not in busy:
                del model.alive[worker]
        if not self.forgets:
            model.saved.hosts = copy.deepcopy(model.kept.hosts)

    # -- what must be true -----------------------------------------------------------------------

    @invariant()
    def every_url_is_where_it_must_be(self) -> None:
        if not hasattr(self, "lab"):
            return
        states = {
            **dict.fromkeys(WAITING, "waiting"),
            Place.IN_WORK: "in work",
            Place.FINISHED: "finished",
            Place.BEYOND: "beyond",
        }
        records = self.lab.records()
        assert {name: states[record.place] for name, record in records.items()} == {
            name: url.state for name, url in self.model.urls.items()
        }
        assert {name: (one.depth, one.outcome, one.attempts) for name, one in records.items()} == {
            name: (url.depth, url.outcome, url.attempts) for name, url in self.model.urls.items()
        }

    @invariant()
    def the_counters_agree(self) -> None:
        if not hasattr(self, "lab"):
            return
        self.lab.assert_counts_agree()
        snapshot = self.lab.snapshot()
        assert snapshot.bytes == self.model.kept.bytes <= self.model.rules.max_bytes
        assert snapshot.pages == len(self.model.kept.pages) <= self.model.rules.max_pages

    @invariant()
    def pages_are_as_they_were_kept(self) -> None:
        if not hasattr(self, "lab"):
            return
        pages = {page.id: self.lab.name_of(page.url) for page in self.lab.backend.pages()}
        assert pages == {number: name for number, (name, _, _) in self.model.kept.pages.items()}

    def teardown(self) -> None:
        if hasattr(self, "lab"):
            try:
                self._crawl_to_the_end()
            finally:
                self.lab.backend.close()
                self.folder.cleanup()

    def _crawl_to_the_end(self) -> None:
        """From wherever it stands, a crawl can be brought to its end: nobody waits for ever."""
        for host in list(self.model.borrowed):
            self.lab.hand_back(host, Pace(ended=self.lab.now))
        for held in self.model.held.values():
            self.lab.put_back(held.task)
        self.lab.join(0)
        for _ in range(400):
            if self.lab.ended_by() is not None:
                break
            self.lab.score()
            self.lab.route()
            tasks = self.lab.lease(0)
            for task in tasks:
                self.lab.settle(task, Outcome.GONE, pace=Pace(ended=self.lab.now))
            if not tasks:
                self.lab.now += 30
                self.lab.join(0)
                self.lab.reap()
        assert self.lab.ended_by() is not None, repr(self.lab.store)
        self.lab.assert_counts_agree()


@pytest.mark.req("B1", "B2", "B3", "D6", "D11", "D14", "D16")
@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("memory", 60),
        ("sqlite", 25),
        ("sqlite with a tiny cache", 25),
        ("redis", 20),
        ("redis in partitions", 8),
    ],
)
@pytest.mark.parametrize("strict", [False, True], ids=["drawn", "strict"])
def test_any_history(
    kind: str,
    examples: int,
    strict: bool,
    make_lab: "Callable[[str, Path, StoreRules], Lab]",
    make_sketch: "Callable[..., Sketch]",
) -> None:
    more = {
        "kind": kind,
        "strict": strict,
        "make_lab": staticmethod(make_lab),
        "make_sketch": staticmethod(make_sketch),
    }
    machine = type("Machine", (Machine,), more)
    bounds = settings(max_examples=examples, stateful_step_count=40, deadline=None)
    run_state_machine_as_test(machine, settings=bounds)
