"""The counters of a crawl, stored for whoever reads it."""

from collections import Counter
from typing import Final

from gossamer.frontier.busy_hosts import BusyHosts, pack_busy_hosts
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.scheduler import Scheduler
from gossamer.stores.counting import COUNTS_NAME, StoredCounts, pack_counts
from gossamer.stores.reasons import REASONS_NOTE, Reason, pack_reason_counts, read_reason_counts
from gossamer.stores.url_record import UrlState
from gossamer.stores.views import BUSY_HOSTS_NAME

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
