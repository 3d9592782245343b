"""What must be true of a crawl after each step: a simple model.

It shares no code with the stores: it is a dictionary of URLs, a few counters, and the rules written
down once more as plainly as possible. Which URL is handed out is the store's to decide; the model
checks that it was allowed to, and takes over the rest.
"""

import copy
import math

from tests.contract.model_state import (
    NAMES,
    SAME,
    Durable,
    HeldTask,
    ModelHost,
    ModelUrl,
    domain_of,
    host_of,
    likeness,
)

from gossamer.model import Outcome
from gossamer.stores import StoreRules
from gossamer.stores.contract import HostFeedback, Task


class Model:
    """What must be true."""

    def __init__(self, rules: StoreRules) -> None:
        self.rules = rules
        self.kept = Durable()
        self.saved = Durable()
        self.held: dict[str, HeldTask] = {}
        self.lost: list[Task] = []
        self.owner: dict[str, int] = {}
        self.kept_until: dict[str, float] = {}
        self.alive: dict[int, float] = {}
        self.taken_slots: dict[str, float] = {}
        """The hosts of which one is taken, and until when."""
        self.lost_slots: set[str] = set()
        """The hosts of which one was taken back."""
        self.last_lease: dict[str, int] = {}

    @property
    def urls(self) -> dict[str, ModelUrl]:
        return self.kept.urls

    def host(self, name: str) -> ModelHost:
        return self.kept.hosts.setdefault(host_of(name), ModelHost())

    def delay(self, name: str) -> float:
        return max(self.rules.scheduler.delay_s, self.host(name).crawl_delay)

    def in_progress(self, name: str) -> int:
        held = sum(host_of(other) == host_of(name) for other in self.held)
        return held + (host_of(name) in self.taken_slots)

    def in_hand(self, name: str, worker: int) -> int:
        """Return how many URLs of the host the worker took while it was shared."""
        ours = (one for one, held in self.held.items() if held.worker == worker and held.shared)
        return sum(host_of(other) == host_of(name) for other in ours)

    def slots(self, name: str) -> int:
        return 1 if self.delay(name) > 0 else self.rules.scheduler.host_connections

    def is_shared(self, name: str) -> bool:
        """Several workers may serve a host that may be asked several things at once."""
        return self.slots(name) > 1

    # -- links -----------------------------------------------------------------------------------

    def is_within(self, depth: int) -> bool:
        return self.rules.max_depth is None or depth <= self.rules.max_depth

    def add(self, names: list[str], depth: int, hops: int, now: float, *, seeds: bool) -> None:
        for name in names:
            if name not in self.urls:
                state = "waiting" if self.is_within(depth) else "too_deep"
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
        if url.state == "too_deep" and self.is_within(depth):
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
        url.state, url.outcome, url.finished_at, url.duplicate_of = "waiting", None, math.inf, None

    # -- leases ----------------------------------------------------------------------------------

    def check_lease(self, name: str, task: Task, worker: int, now: float) -> None:
        url, host, domain = self.urls[name], self.host(name), domain_of(name)
        assert url.state == "waiting"
        assert task.lease > self.last_lease.get(domain, -1)
        assert (task.depth, task.hops, task.attempt) == (url.depth, url.hops, url.attempts + 1)
        assert now >= host.next_start, f"{name} is asked {host.next_start - now} s too early"
        assert self.in_progress(name) < self.slots(name)
        if self.is_shared(name):
            share = math.ceil(self.slots(name) / len(self.alive))
            assert self.in_hand(name, worker) < share, "more than its share of a host"
        else:
            self.check_domain(domain, worker, now)
        reserved = len(self.held) + 1
        page_bytes = min(self.rules.max_page_bytes, self.rules.max_bytes)
        assert len(self.kept.pages) + reserved <= self.rules.max_pages
        assert self.kept.bytes + reserved * page_bytes <= self.rules.max_bytes

    def check_domain(self, domain: str, worker: int, now: float) -> None:
        """Check that the worker may have a host of the domain, which is not shared."""
        for other, held in self.held.items():
            is_elsewhere = domain_of(other) != domain or held.shared
            assert is_elsewhere or held.worker == worker, "a domain in two hands"
        if self.kept_until.get(domain, -math.inf) > now and self.owner[domain] in self.alive:
            assert self.owner[domain] == worker, "a domain was taken away from its worker"

    def lease(self, name: str, task: Task, worker: int, now: float) -> None:
        self.check_lease(name, task, worker, now)
        self.urls[name].state = "in progress"
        self.last_lease[domain_of(name)] = task.lease
        shared = self.is_shared(name)
        if not shared:
            self.owner[domain_of(name)] = worker
        self.held[name] = HeldTask(task, worker, now + self.rules.scheduler.lease_s, shared)

    def end(self, name: str, now: float) -> HeldTask:
        held = self.held.pop(name)
        self.lost.append(held.task)
        if not held.shared:
            self.kept_until[domain_of(name)] = now + self.rules.scheduler.domain_ttl_s
        return held

    def rest(self, name: str, feedback: HostFeedback) -> None:
        host = self.host(name)
        if feedback.crawl_delay_s is not None:
            host.crawl_delay = feedback.crawl_delay_s
        host.failures = host.failures + 1 if feedback.failed else 0
        pause = self.delay(name)
        if feedback.failed:
            pause = max(pause, min(300.0, max(pause, 0.5) * 2 ** (host.failures - 1)))
        if feedback.retry_after_s is not None:
            pause = max(pause, min(feedback.retry_after_s, 3600.0))
        host.next_start = max(host.next_start, feedback.ended + pause)

    def wait_again(self, name: str) -> None:
        self.urls[name].state = "waiting"

    def give_up_claim(self, held: HeldTask, name: str) -> None:
        """The page is not kept: its number is free, and its duplicates must be seen again."""
        if held.number is None:
            return
        for other in self.held.values():
            if other.refused_by == name:
                other.refused_by = "nobody"
        for other_name, url in self.urls.items():
            if url.state == "finished" and url.duplicate_of == held.number:
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

    def leave(self, name: str, feedback: HostFeedback | None, now: float) -> None:
        """A task is given back."""
        held = self.end(name, now)
        if feedback is None:
            host = self.host(name)
            host.next_start = max(host.next_start, now + self.delay(name))
        else:
            self.rest(name, feedback)
        self.wait_again(name)
        self.give_up_claim(held, name)

    def finish(self, name: str, outcome: Outcome, now: float) -> HeldTask:
        held = self.end(name, now)
        url = self.urls[name]
        url.state, url.outcome, url.finished_at, url.attempts = (
            "finished",
            outcome,
            now,
            url.attempts + 1,
        )
        url.targets, url.redirect, url.page, url.duplicate_of = [], False, None, None
        return held

    # -- the end of a process --------------------------------------------------------------------

    def stop(self, now: float, *, crashed: bool, forgets: bool, forgets_hosts: bool) -> None:
        if crashed and forgets:
            self.kept = copy.deepcopy(self.saved)
        for name, url in self.urls.items():
            if url.state == "in progress":
                url.state = "waiting"
            if url.duplicate_of is not None and url.duplicate_of not in self.kept.pages:
                self.visit_again(name)
        if crashed and forgets_hosts:
            self.kept.hosts = copy.deepcopy(self.saved.hosts)
        if crashed or self.held or self.taken_slots:
            self.distrust(now)
        self.lost += [held.task for held in self.held.values()]
        self.held.clear()
        self.taken_slots.clear()
        self.lost_slots.clear()
        self.owner.clear()
        self.kept_until.clear()
        self.alive.clear()
        self.last_lease = {}

    def distrust(self, now: float) -> None:
        """Nobody knows when a host was last asked."""
        for name in [*NAMES, "elsewhere/"]:
            host = self.host(name)
            host.next_start = max(host.next_start, now + self.delay(name))

    def lapse(self, now: float) -> None:
        """Take back the leases that are over, and dismiss the workers that are silent."""
        lease_s = self.rules.scheduler.lease_s
        for name, held in list(self.held.items()):
            if held.deadline <= now:
                self.take_back(name, now, died=self.alive[held.worker] + lease_s / 2 <= now)
        for host, deadline in list(self.taken_slots.items()):
            if deadline <= now:
                del self.taken_slots[host]
                self.lost_slots.add(host)
                one = self.host(f"{host}/")
                one.next_start = max(one.next_start, now + self.delay(f"{host}/"))
        busy = {held.worker for held in self.held.values()}
        for worker, seen_at in list(self.alive.items()):
            if seen_at + lease_s <= now and worker not in busy:
                self.forget(worker)

    def take_back(self, name: str, now: float, *, died: bool) -> None:
        """A lease is taken from a worker, which may have died of the URL."""
        url = self.urls[name]
        self.leave(name, None, now)
        url.deaths += died
        if died and url.deaths >= 3:
            url.state, url.outcome, url.finished_at = "finished", Outcome.GAVE_UP, now
            url.targets, url.redirect, url.page, url.duplicate_of = [], False, None, None
            url.attempts += 1

    def dismiss(self, worker: int, culprit: str | None, now: float) -> None:
        """A worker has died, perhaps of a URL."""
        for name, held in list(self.held.items()):
            if held.worker == worker:
                self.take_back(name, now, died=name == culprit)
        if worker in self.alive:
            self.forget(worker)

    def forget(self, worker: int) -> None:
        """A worker has left: its domains may be assigned to others, also if it comes back later."""
        del self.alive[worker]
        for domain, owner in self.owner.items():
            if owner == worker:
                self.kept_until.pop(domain, None)
