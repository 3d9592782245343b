"""The registry of hosts: their delays, failures and durations."""

import heapq
import math

from gossamer.frontier.contract import HostFeedback
from gossamer.frontier.host_memory import HostMemory
from gossamer.frontier.hosts import Domain, Host
from gossamer.frontier.scheduler import Scheduler
from gossamer.model import HostKey
from gossamer.policy.backoff import FIRST_DELAY_S, auto_delay_s, longest_rest_s, rest_s
from gossamer.stores.reading import HostView
from gossamer.stores.rows import HostRow

SLOW_HOSTS = 64
"""How many of the slowest hosts are remembered, also when they have no URLs left."""


class HostRegistry:
    """The registry that moves hosts between memory and the scheduler.

    At `unsure_since` it was found that a process had crashed, so that the times of its last
    requests are unknown. Each host gets a full delay from then on.
    """

    def __init__(
        self,
        memory: HostMemory,
        scheduler: Scheduler,
        now: float,
        unsure_since: float,
        *,
        keeps_domains: bool = False,
    ) -> None:
        """Prepare; with `keeps_domains` the workers that served a domain are still there."""
        self._memory = memory
        self._scheduler = scheduler
        self._opened = now
        self._unsure_since = unsure_since
        self._keeps_domains = keeps_domains
        self._touched: dict[HostKey, Host] = {}
        self._slow: dict[HostKey, Host] = {}

    def get(self, key: HostKey, domain: str) -> Host:
        """Return a host, which is active in the scheduler from now on."""
        host = self._scheduler.hosts.find(key)
        if host is None:
            host = self._scheduler.hosts.add(key, domain, self._scheduler.rules.limits(key))
            self._set_delay(host, FIRST_DELAY_S)
            row = self._memory.row(key)
            if row is not None:
                self._restore(host, row)
            if self._keeps_domains and host.domain.hosts == 1:
                self._restore_domain(host.domain)
            host.next_start = max(host.next_start, self._unsure_since + host.delay_s)
        return host

    def _restore(self, host: Host, row: HostRow) -> None:
        host.crawl_delay_s = row.crawl_delay_s
        self._set_delay(host, row.delay_s or FIRST_DELAY_S)
        # A time later than any possible rest was written by a wrong clock.
        latest = self._opened + longest_rest_s(host.delay_s)
        host.next_start = row.next_start if row.next_start <= latest else self._opened
        host.failures, host.unanswered = row.failures, row.unanswered
        host.requests, host.failed = row.requests, row.failed
        host.pages, host.took_s = row.pages, row.took_s
        host.received = row.received
        if row.failed_at is not None:
            host.failed_at = row.failed_at

    def _restore_domain(self, domain: Domain) -> None:
        """Let a domain stay with the worker that serves it."""
        row = self._memory.domains.get(domain.name)
        if row is not None:
            domain.worker, domain.kept_until = row.worker, row.kept_until

    def next_start_after(self, host: Host, feedback: HostFeedback) -> float:
        """Note a request and return the earliest time of the host's next one."""
        self._touched[host.key] = host
        host.note_request(
            feedback.ended, feedback.took_s, failed=feedback.failed, answered=feedback.answered
        )
        if feedback.crawl_delay_s is not None:
            host.crawl_delay_s = feedback.crawl_delay_s
            self._set_delay(host, host.delay_s)
        self._adapt_delay(host, feedback)
        self._watch_slow(host)
        pause_s = rest_s(
            _least_delay_s(host),
            took_s=feedback.took_s,
            failures=host.failures,
            retry_after_s=feedback.retry_after_s,
        )
        return feedback.ended + max(pause_s, host.delay_s)

    def _adapt_delay(self, host: Host, feedback: HostFeedback) -> None:
        adapted_s = auto_delay_s(
            host.delay_s,
            host.limits.delay_s,
            took_s=feedback.took_s,
            failed=feedback.failed,
            overloaded=feedback.overloaded,
        )
        self._set_delay(host, adapted_s)

    def _set_delay(self, host: Host, adapted_s: float) -> None:
        """Set the delay of a host, for which this one would fit how it has answered."""
        least_s = _least_delay_s(host)
        host.delay_s = max(least_s, adapted_s) if host.limits.auto_delay else least_s

    def next_start_unknown(self, host: Host, now: float) -> float:
        """Return the earliest time of the next request if that of the last one is unknown."""
        self._touched[host.key] = host
        return now + host.delay_s

    def count_page(self, host: Host) -> None:
        """Count a page of the host that is kept."""
        self._touched[host.key] = host
        host.pages += 1

    def count_received(self, host: Host, received: int) -> None:
        """Count what was received from the host."""
        self._touched[host.key] = host
        host.received += received

    def forgive(self, host: Host) -> None:
        """Let a host count as one that has not failed lately."""
        self._touched[host.key] = host
        host.failures = host.unanswered = 0
        self._scheduler.hosts.note_idle(host)

    def save(self) -> None:
        """Save what has changed."""
        for host in self._touched.values():
            self._memory.save(self._row(host))
        self._touched.clear()

    def _row(self, host: Host) -> HostRow:
        return HostRow(
            id=self._memory.id_of(host.key, host.domain.name),
            key=host.key,
            domain=host.domain.name,
            delay_s=host.delay_s,
            next_start=host.next_start,
            failures=host.failures,
            unanswered=host.unanswered,
            crawl_delay_s=host.crawl_delay_s,
            requests=host.requests,
            failed=host.failed,
            pages=host.pages,
            took_s=host.took_s,
            received=host.received,
            failed_at=None if math.isinf(host.failed_at) else host.failed_at,
            robots_slots=host.robots_slots,
            robots_until=host.robots_until,
        )

    def note(self, host: Host) -> None:
        """Note that a host has changed, and is to be saved."""
        self._touched[host.key] = host

    def views(self, limit: int, now: float) -> list[HostView]:
        """Return the busiest hosts and the slowest ones, at most `limit` of each."""
        working = dict.fromkeys(lease.host for lease in self._scheduler.leases.all())
        candidates = working if len(working) >= limit else self._scheduler.hosts.all()
        busiest = heapq.nlargest(
            limit, candidates, key=lambda host: (host.in_progress, host.waiting)
        )
        slowest = heapq.nlargest(limit, self._slow.values(), key=lambda host: host.mean_s)
        return [
            HostView(
                host=host.key,
                waiting=host.waiting,
                in_progress=host.in_progress,
                pages=host.pages,
                failures=host.failed,
                next_in_s=host.next_start - now,
                delay_s=host.delay_s,
                mean_ms=host.mean_s * 1000,
            )
            for host in {host.key: host for host in busiest + slowest}.values()
        ]

    def _watch_slow(self, host: Host) -> None:
        self._slow[host.key] = host
        if len(self._slow) > 2 * SLOW_HOSTS:
            slowest = heapq.nlargest(SLOW_HOSTS, self._slow.values(), key=lambda one: one.mean_s)
            self._slow = {one.key: one for one in slowest}


def _least_delay_s(host: Host) -> float:
    return max(host.limits.delay_s, host.crawl_delay_s or 0.0)


class RobotsSlots:
    """The slots taken for robots.txt; whoever is alive releases one within the time of a lease."""

    def __init__(self, hosts: HostRegistry, lease_s: float) -> None:
        self._registry = hosts
        self._lease_s = lease_s
        self._taken: dict[Host, None] = {}
        """The hosts of which any is taken."""

    def __len__(self) -> int:
        return sum(host.robots_slots for host in self._taken)

    def take(self, host: Host, now: float) -> None:
        """Note that a slot was taken."""
        host.robots_slots += 1
        host.robots_until = now + self._lease_s
        self._taken[host] = None
        self._registry.note(host)

    def resume(self, host: Host, row: HostRow) -> None:
        """Go on with slots that were stored."""
        host.robots_slots, host.robots_until = row.robots_slots, row.robots_until
        self._taken[host] = None

    def release(self, host: Host) -> bool:
        """Note that a slot was released; False if none is taken, or no longer."""
        if not host.robots_slots:
            return False
        host.robots_slots -= 1
        if not host.robots_slots:
            del self._taken[host]
        self._registry.note(host)
        return True

    def end_overdue(self, now: float) -> list[tuple[Host, int]]:
        """Forget the slots that nobody released in time; return how many of each host."""
        overdue = [(host, host.robots_slots) for host in self._taken if host.robots_until <= now]
        for host, _ in overdue:
            host.robots_slots = 0
            del self._taken[host]
            self._registry.note(host)
        return overdue
