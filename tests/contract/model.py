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
    own_likeness,
)

from gossamer.frontier.contract import HostFeedback, ReturnedTask, Task
from gossamer.frontier.hosts import HostLimits, depth_limit
from gossamer.frontier.rules import FrontierRules
from gossamer.model import Outcome
from gossamer.policy.backoff import auto_delay_s
from gossamer.stores.url_record import Record

NOTHING = ReturnedTask()


class Model:
    """What must be true."""

    def __init__(self, rules: FrontierRules) -> None:
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
        self.lags = False
        """Whether the store has shorter paths to follow, which are followed here at once."""

    @property
    def urls(self) -> dict[str, ModelUrl]:
        return self.kept.urls

    def host(self, name: str) -> ModelHost:
        return self.kept.hosts.setdefault(host_of(name), ModelHost())

    def delay(self, name: str) -> float:
        adapted = self.host(name).delay if self.limits(name).auto_delay else 0.0
        return max(self.least_delay(name), adapted)

    def least_delay(self, name: str) -> float:
        return max(self.limits(name).delay_s, self.host(name).crawl_delay)

    def limits(self, name: str) -> HostLimits:
        return self.rules.scheduler.limits(f"{host_of(name)}.test")

    def pages_of(self, name: str) -> int:
        """Return how many pages of the host are kept."""
        pages = (one for one, url in self.urls.items() if url.page is not None)
        return sum(host_of(one) == host_of(name) for one in pages)

    def in_progress(self, name: str) -> int:
        held = sum(host_of(other) == host_of(name) for other in self.held)
        return held + (host_of(name) in self.taken_slots)

    def in_hand(self, name: str, worker: int) -> int:
        """Return how many URLs of the host the worker took while it was shared."""
        ours = (one for one, held in self.held.items() if held.worker == worker and held.shared)
        return sum(host_of(other) == host_of(name) for other in ours)

    def slots(self, name: str) -> int:
        return self.limits(name).slots(self.delay(name), self.pages_of(name))

    def is_shared(self, name: str) -> bool:
        """Several workers may serve a host that may be asked several things at once."""
        return self.slots(name) > 1

    # -- links -----------------------------------------------------------------------------------

    def is_within(self, name: str, depth: int) -> bool:
        rules, host = self.rules.scheduler.host_rules, f"{host_of(name)}.test"
        limit = depth_limit(host, rules, self.rules.max_depth)
        return limit is None or depth <= limit

    def state_at(self, name: str, depth: int) -> str:
        """Return the state in a store that takes the URL to be at that depth so far."""
        state = self.urls[name].state
        return "too_deep" if state == "waiting" and not self.is_within(name, depth) else state

    def add(self, names: list[str], depth: int, hops: int, now: float, *, seeds: bool) -> None:
        for name in names:
            if name not in self.urls:
                state = "waiting" if self.is_within(name, depth) else "too_deep"
                self.urls[name] = ModelUrl(state, depth, hops)
        for name in names:
            self.bring_nearer(name, depth, hops)
        self.relax()
        for name in names:
            url = self.urls[name]
            if not seeds and url.finished_at <= now - self.rules.revisit_s:
                self.visit_again(name)

    def bring_nearer(self, name: str, depth: int, hops: int) -> bool:
        url = self.urls[name]
        if (depth, hops) >= (url.depth, url.hops):
            return False
        url.depth, url.hops = depth, hops
        if url.state == "too_deep" and self.is_within(name, depth):
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
        path, exact = (task.depth, task.hops), (url.depth, url.hops)
        assert path >= exact if self.lags else path == exact
        assert task.attempt == url.attempts + 1
        assert task.delay_s == self.delay(name)
        assert task.exhausted_budget == self.limits(name).exhausted_budget(self.pages_of(name), 0)
        assert now >= host.next_start, f"{name} is asked {host.next_start - now} s too early"
        assert self.in_progress(name) < self.slots(name)
        if self.is_shared(name):
            share = math.ceil(self.limits(name).connections / len(self.alive))
            assert self.in_hand(name, worker) < share, "more than its share of a host"
        else:
            self.check_domain(domain, worker, now)
        self.check_budgets(task)

    def check_budgets(self, task: Task) -> None:
        """Check that a task may receive what is left, and no more than it needs."""
        rules = self.rules
        assert self.kept.visits + len(self.held) < rules.max_pages
        assert max(self.kept.received, self.kept.short_at) < rules.max_bytes
        reserved = sum(held.task.max_bytes for held in self.held.values())
        left = rules.max_bytes - self.kept.received - reserved
        assert task.max_bytes == min(left, rules.max_task_bytes) > 0
        assert task.is_last_of_budget == (task.max_bytes < rules.max_task_bytes)
        assert not (task.is_last_of_budget and self.held), "others may return what it needs"

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

    def end(self, name: str, now: float, received: int = 0) -> HeldTask:
        held = self.held.pop(name)
        self.kept.received += min(received, held.task.max_bytes)
        self.lost.append(held.task)
        if not held.shared:
            self.kept_until[domain_of(name)] = now + self.rules.scheduler.domain_lease_s
        return held

    def rest(self, name: str, feedback: HostFeedback) -> None:
        host = self.host(name)
        if feedback.crawl_delay_s is not None:
            host.crawl_delay = feedback.crawl_delay_s
        host.failures = host.failures + 1 if feedback.failed else 0
        if self.limits(name).auto_delay:
            host.delay = auto_delay_s(
                self.delay(name),
                self.limits(name).delay_s,
                took_s=feedback.took_s,
                failed=feedback.failed,
                overloaded=feedback.overloaded,
            )
        pause = self.least_delay(name)
        if pause > 0:
            pause = max(pause, feedback.took_s)
        if feedback.failed:
            pause = max(
                pause, min(300.0, max(self.least_delay(name), 0.5) * 2 ** (host.failures - 1))
            )
        if feedback.retry_after_s is not None:
            pause = max(pause, min(feedback.retry_after_s, 3600.0))
        host.next_start = max(host.next_start, feedback.ended + max(pause, self.delay(name)))

    def wait_again(self, name: str) -> None:
        self.urls[name].state = "waiting"

    def give_up_claim(self, held: HeldTask, name: str) -> None:
        """The page is not kept: its number is free, and its duplicates must be seen again."""
        if held.number is None or held.again:
            return
        for other in self.held.values():
            if other.refused_by == name:
                other.refused_by = "nobody"
        for other_name, url in self.urls.items():
            if url.state == "finished" and url.duplicate_of == held.number:
                self.visit_again(other_name)

    def contents(self, now: float) -> dict[int, str]:
        """Return what the pages say that a new one is compared with, kept or claimed."""
        others = {
            number: kept
            for number, (_, kept, at) in self.kept.pages.items()
            if at > now - self.rules.keep_s
        }
        return others | {
            other.number: other.content
            for other in self.held.values()
            if other.number is not None and other.content is not None and not other.again
        }

    def comparable(self, content: str, now: float) -> dict[int, float]:
        """Return the pages that look like this content, and how much."""
        how = {
            number: SAME if other == content else likeness(content, other)
            for number, other in self.contents(now).items()
        }
        least = self.rules.similarity or 0.0
        return {number: one for number, one in how.items() if one >= least}

    def repeated(self, content: str, like: dict[int, float], now: float) -> dict[int, float]:
        """Return those of the pages that look like this content which it repeats."""
        said, least = self.contents(now), self.rules.similarity or 0.0
        return {
            number: how
            for number, how in like.items()
            if how == SAME
            or (self.is_read(number) and own_likeness(content, said[number]) >= least)
        }

    def is_read(self, number: int) -> bool:
        """Tell whether the own content of a page is known."""
        held = [
            other.is_read
            for other in self.held.values()
            if other.number == number and not other.again
        ]
        return held[0] if held else number in self.kept.read

    def leave(
        self, name: str, feedback: HostFeedback | None, now: float, returned: ReturnedTask = NOTHING
    ) -> None:
        """A task is given back."""
        held = self.end(name, now, returned.received)
        if returned.short:
            self.kept.short_at = self.rules.max_bytes
        if feedback is None:
            host = self.host(name)
            host.next_start = max(host.next_start, now + self.delay(name))
        else:
            self.rest(name, feedback)
        self.wait_again(name)
        self.give_up_claim(held, name)

    def finish(
        self,
        name: str,
        outcome: Outcome,
        now: float,
        received: int = 0,
        records: tuple[Record, ...] | None = None,
    ) -> HeldTask:
        held = self.end(name, now, received)
        url, page = self.urls[name], held.number if outcome is Outcome.FETCHED else None
        if page is not None or records is not None:
            self.kept.results.append((name, page, records))
        url.state, url.outcome, url.finished_at, url.attempts = (
            "finished",
            outcome,
            now,
            url.attempts + 1,
        )
        url.targets, url.redirect, url.duplicate_of = [], False, None
        return held

    # -- the end of a process --------------------------------------------------------------------

    def stop(self, now: float, *, crashed: bool) -> None:
        if crashed:
            self.kept = copy.deepcopy(self.saved)
        for name, url in self.urls.items():
            if url.state == "in progress":
                url.state = "waiting"
            if url.duplicate_of is not None and url.duplicate_of not in self.kept.pages:
                self.visit_again(name)
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

    def take_back(self, name: str, now: float, received: int = 0, *, died: bool) -> None:
        """A lease is taken from a worker, which may have died of the URL."""
        url = self.urls[name]
        self.leave(name, None, now, ReturnedTask(received))
        url.deaths += died
        if died and url.deaths >= 3:
            url.state, url.outcome, url.finished_at = "finished", Outcome.GAVE_UP, now
            url.targets, url.redirect, url.duplicate_of = [], False, None
            url.attempts += 1

    def dismiss(self, worker: int, culprit: str | None, received: int, now: float) -> None:
        """A worker has died, perhaps of a URL, and had received so much."""
        for name, held in list(self.held.items()):
            if held.worker == worker:
                self.take_back(name, now, received, died=name == culprit)
                received -= min(received, held.task.max_bytes)
        if worker in self.alive:
            self.forget(worker)

    def forget(self, worker: int) -> None:
        """A worker has left: its domains may be assigned to others, also if it comes back later."""
        del self.alive[worker]
        for domain, owner in self.owner.items():
            if owner == worker:
                self.kept_until.pop(domain, None)
