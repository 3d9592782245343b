"""The counters of a crawl, stored for whoever reads it."""

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.frontier.hosts import Host
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.scheduler import Scheduler
from gossamer.stores.counting import (
    COUNTS_NAME,
    REASONS_NOTE,
    Reason,
    StoredCounts,
    pack_counts,
    pack_reason_counts,
    read_reason_counts,
)
from gossamer.stores.reading import (
    BUSY_HOSTS_NAME,
    WORKERS_NOTE,
    BusyHost,
    WorkerReport,
    WorkersNote,
    WorkerView,
)
from gossamer.stores.url_record import UrlState

FEW_HOSTS: Final = 64
"""Up to how many hosts the busiest are stored with every commit."""


class CrawlCounters:
    """Counts what nobody else counts, and stores all counters with the rows that they are of."""

    def __init__(self, memory: CrawlMemory, scheduler: Scheduler) -> None:
        self._memory = memory
        self._scheduler = scheduler
        self.outcomes: Counter[Reason] = Counter(read_reason_counts(memory.get(REASONS_NOTE)))
        """How many URLs are finished, by the reason."""
        self.queues: Counter[int] = Counter()
        """How many URLs wait in each priority queue, over all hosts, queued or assigned."""
        self._busy_hosts = BusyHosts()

    def store(self, *, relaxing: bool) -> None:
        """Store the counters; `relaxing` if a shorter path is not followed to its end."""
        memory = self._memory
        memory.put(REASONS_NOTE, pack_reason_counts(self.outcomes))
        counts = memory.urls.counts
        stored = StoredCounts(
            states={int(state): urls for state, urls in self._states().items() if urls},
            depth_counts=counts.depth_counts(),
            queues={queue: urls for queue, urls in sorted(self.queues.items()) if urls},
            pages=memory.pages.count,
            hosts=memory.hosts.count,
            relaxing=relaxing,
            first_attempt_at=counts.first_attempt_at,
            last_attempt_at=counts.last_attempt_at,
            domains=memory.hosts.stored_domains,
        )
        memory.put(COUNTS_NAME, pack_counts(stored))
        if len(self._scheduler.hosts) <= FEW_HOSTS:
            self.store_busy_hosts()

    def _states(self) -> dict[UrlState, int]:
        """Return how many URLs there are of each state; those assigned are stored as queued."""
        scheduler = self._scheduler
        states = {
            UrlState.UNSCORED: self._memory.waiting.unscored,
            UrlState.QUEUED: scheduler.queued + scheduler.assigned,
            UrlState.LEASED: len(scheduler.leases),
            UrlState.DONE: self.outcomes.total(),
        }
        states[UrlState.TOO_DEEP] = self._memory.urls.last_id - sum(states.values())
        return states

    def store_busy_hosts(self, now: float | None = None) -> None:
        """Store which hosts have most to do, if it is time for that; None: it is."""
        hosts = self._scheduler.hosts
        if now is None or self._busy_hosts.is_due(now, len(hosts)):
            self._memory.put(BUSY_HOSTS_NAME, pack_busy_hosts(hosts.all()))


MOST: Final = 50
EVERY_S: Final = 1.0
HOSTS_A_SECOND: Final = 10_000
"""How many hosts are compared in a second, so that it takes some thousandths of the time."""


class BusyHosts:
    """Says when the busiest hosts are to be stored again, and which they are."""

    def __init__(self) -> None:
        self._due = float("-inf")

    def is_due(self, now: float, hosts: int) -> bool:
        """Tell whether it is time to compare so many hosts, and that it is done then."""
        if now < self._due:
            return False
        self._due = now + max(EVERY_S, hosts / HOSTS_A_SECOND)
        return True


def pack_busy_hosts(hosts: Iterable[Host]) -> bytes:
    """Return the busiest of these hosts as they are stored."""
    busiest = heapq.nlargest(MOST, hosts, key=lambda host: host.waiting + host.in_progress)
    busy = [BusyHost(host.key, host.waiting, host.in_progress) for host in busiest]
    return msgspec.msgpack.encode([host for host in busy if host.waiting + host.in_progress])


class WorkerRegistry:
    """The registry of the workers that take part."""

    def __init__(self, memory: CrawlMemory, scheduler: Scheduler) -> None:
        self._memory = memory
        self._scheduler = scheduler
        self._reports: dict[int, WorkerReport] = {}

    def keep_report(self, worker: int, report: WorkerReport) -> None:
        """Keep what a worker told."""
        self._reports[worker] = report

    def forget_gone(self, now: float) -> None:
        """Forget the reports of workers that do not take part any more."""
        gone = [worker for worker in self._reports if worker not in self._scheduler.due_hosts]
        for worker in gone:
            del self._reports[worker]
        if gone:
            self.note(now)

    def views(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""
        return [
            WorkerView(
                number=load.number,
                hosts=load.hosts,
                in_progress=load.in_progress,
                silent_s=now - load.seen_at,
                dead_in_s=load.seen_at + self._scheduler.rules.lease_s - now,
                report=self._reports.get(load.number),
            )
            for load in self._scheduler.workers()
        ]

    def close(self) -> None:
        """Remove what other processes know of the workers, who are gone."""
        self._memory.remove_note(WORKERS_NOTE)

    def note(self, now: float) -> None:
        """Let other processes know of all workers."""
        note = WorkersNote(now, self.views(now))
        self._memory.put(WORKERS_NOTE, msgspec.json.encode(note))
