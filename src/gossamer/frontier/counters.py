"""The counters of a crawl: counted while URLs move, and stored for whoever reads it."""

import heapq
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.stores.counting import (
    COUNTS_NAME,
    REASONS_NAME,
    Reason,
    StoredCounts,
    pack_counts,
    pack_reason_counts,
    read_reason_counts,
)
from gossamer.stores.crawl_views import (
    BUSY_HOSTS_NAME,
    WORKERS_NAME,
    BusyHost,
    StoredWorkers,
    WorkerReport,
    WorkerView,
)
from gossamer.stores.url_record import UrlState

if TYPE_CHECKING:
    from gossamer.frontier.hosts import Host
    from gossamer.frontier.memory import CrawlMemory
    from gossamer.frontier.scheduler import Scheduler

FEW_HOSTS: Final = 64
"""Up to how many hosts the busiest are stored with every commit."""
MOST_HOSTS: Final = 50
"""How many of the busiest are stored."""
EVERY_S: Final = 1.0
HOSTS_A_SECOND: Final = 10_000
"""How many hosts are compared in a second, so that it takes some thousandths of the time."""


class UrlCounts:
    """How many URLs of each depth are known, finished, and have a page; and when they were tried.

    A URL costs a fraction of a microsecond each time that something of it changes here.
    """

    def __init__(self) -> None:
        self._urls = array("q", [0])
        self._finished = array("q", [0])
        self._pages = array("q", [0])
        self.first_attempt_at: float | None = None
        self.last_attempt_at: float | None = None

    def load(self, kinds: Mapping[tuple[int, int, bool], int]) -> None:
        """Count all URLs, given how many there are of a depth and a state, with a page or not."""
        for (depth, state, has_page), urls in kinds.items():
            self.count(depth, urls, urls * (state == UrlState.DONE), urls * has_page)

    def count(self, depth: int, urls: int, finished: int = 0, pages: int = 0) -> None:
        """Count URLs of a depth, and how many are finished or have a page; negative: no longer."""
        if depth >= len(self._urls):
            for counts in (self._urls, self._finished, self._pages):
                counts.extend([0] * (depth + 1 - len(counts)))
        self._urls[depth] += urls
        self._finished[depth] += finished
        self._pages[depth] += pages

    def attempt(self, at: float) -> None:
        """Note an attempt."""
        if self.first_attempt_at is None:
            self.first_attempt_at = at
        self.last_attempt_at = at

    def depth_counts(self) -> tuple[bytes, bytes, bytes]:
        """Return the counters by depth as they are stored (`StoredCounts`)."""
        return self._urls.tobytes(), self._finished.tobytes(), self._pages.tobytes()


class StoredCounters:
    """Counts what nobody else counts, and stores all counters with the rows that they are of."""

    def __init__(self, memory: "CrawlMemory", scheduler: "Scheduler") -> None:
        self._memory = memory
        self._scheduler = scheduler
        self.outcomes: Counter[Reason] = Counter(read_reason_counts(memory.get(REASONS_NAME)))
        """How many URLs are finished, by the reason."""
        self.queues: Counter[int] = Counter()
        """How many URLs wait in each priority queue, over all hosts, queued or assigned."""
        self._busy_hosts_due = float("-inf")

    def store(self, *, relaxing: bool) -> None:
        """Store the counters; `relaxing` if a shorter path is not followed to its end."""
        memory = self._memory
        memory.put(REASONS_NAME, pack_reason_counts(self.outcomes))
        counts = memory.urls.counts
        stored = StoredCounts(
            states={int(state): urls for state, urls in self._states().items() if urls},
            depth_counts=counts.depth_counts(),
            queues={queue: urls for queue, urls in sorted(self.queues.items()) if urls},
            pages=memory.pages.count,
            hosts=len(memory.hosts.ids),
            relaxing=relaxing,
            first_attempt_at=counts.first_attempt_at,
            last_attempt_at=counts.last_attempt_at,
            domains=len(memory.hosts.stored_domains),
        )
        memory.put(COUNTS_NAME, pack_counts(stored))
        if len(self._scheduler.hosts) <= FEW_HOSTS:
            self.store_busy_hosts()

    def _states(self) -> dict[UrlState, int]:
        """Return how many URLs there are of each state; those assigned are stored as queued."""
        scheduler = self._scheduler
        states = {
            UrlState.UNSCORED: len(self._memory.waiting.unscored),
            UrlState.QUEUED: scheduler.queued + scheduler.assigned,
            UrlState.LEASED: len(scheduler.leases),
            UrlState.DONE: self.outcomes.total(),
        }
        states[UrlState.TOO_DEEP] = self._memory.urls.last_id - sum(states.values())
        return states

    def store_busy_hosts(self, now: float | None = None) -> None:
        """Store which hosts have most to do, if it is time for that; None: it is."""
        hosts = self._scheduler.hosts
        if now is not None:
            if now < self._busy_hosts_due:
                return
            self._busy_hosts_due = now + max(EVERY_S, len(hosts) / HOSTS_A_SECOND)
        busiest = heapq.nlargest(
            MOST_HOSTS, hosts.by_key.values(), key=lambda host: host.waiting + host.in_progress
        )
        packed = [
            BusyHost(host.key, host.waiting, host.in_progress)
            for host in busiest
            if host.waiting + host.in_progress
        ]
        self._memory.put(BUSY_HOSTS_NAME, msgspec.msgpack.encode(packed))


class WorkerRegistry:
    """The registry of the workers that take part."""

    def __init__(self, memory: "CrawlMemory", scheduler: "Scheduler") -> None:
        self._memory = memory
        self._scheduler = scheduler
        self.reports: dict[int, WorkerReport] = {}
        """What each worker told last."""

    def forget_gone(self, now: float) -> None:
        """Forget the reports of workers that do not take part any more."""
        gone = [worker for worker in self.reports if worker not in self._scheduler.due_hosts]
        for worker in gone:
            del self.reports[worker]
        if gone:
            self.store(now)

    def views(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""
        hosts: dict[int, list[Host]] = {}
        for lease in self._scheduler.leases.of_url.values():
            hosts.setdefault(lease.row.worker, []).append(lease.host)
        lease_s = self._scheduler.rules.lease_s
        return [
            WorkerView(
                number=worker,
                hosts=len({*due_hosts.served, *hosts.get(worker, ())}),
                in_progress=len(hosts.get(worker, ())),
                silent_s=now - due_hosts.seen_at,
                dead_in_s=due_hosts.seen_at + lease_s - now,
                **(msgspec.structs.asdict(report) if report else {}),
            )
            for worker, due_hosts in self._scheduler.due_hosts.by_worker()
            for report in [self.reports.get(worker)]
        ]

    def store(self, now: float) -> None:
        """Let other processes know of all workers."""
        self._memory.put(WORKERS_NAME, msgspec.json.encode(StoredWorkers(now, self.views(now))))
