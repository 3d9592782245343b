"""Politeness: when each host may be asked again, and what is in memory of hosts and domains.

Of every host the key and the number of its URLs are in memory, of every domain its credit
(`HostMemory`). The rest of a host's row is read when one of its URLs waits or is in progress: then
it is active in the scheduler (`HostRegistry`).
"""

import heapq
import sys
from array import array
from collections.abc import Iterable, Sequence

import msgspec

from gossamer.frontier.commits import Pending
from gossamer.frontier.contract import HostFeedback, Link
from gossamer.frontier.hosts import Domain, Host
from gossamer.frontier.scheduler import Scheduler
from gossamer.model import HostKey
from gossamer.policy.backoff import (
    FIRST_DELAY_S,
    auto_delay_s,
    longest_pause_s,
    pause_after_request_s,
)
from gossamer.stores.crawl_views import HostView
from gossamer.stores.rows import DomainRow, HostRow, Rows

SLOW_HOSTS = 64
"""How many of the slowest hosts are remembered, also when they have no URLs left."""


class HostMemory:
    """What is known of every host and domain."""

    def __init__(self, rows: Rows, pending: Pending) -> None:
        self._rows = rows
        self._pending = pending
        self.ids: dict[HostKey, int] = {}
        self.keys: list[HostKey] = [HostKey("")]
        """By id."""
        self.domain_of: list[str] = [""]
        """The registered domain of each host, by its id."""
        self._url_counts = array("Q", [0])
        self._fetched: dict[int, HostRow] = {}
        """Rows that were read ahead."""
        self.domains: dict[str, DomainRow] = {}
        self.stored_domains: set[str] = set()
        """The domains that have a row; others have a credit that is not stored yet."""
        self.top_credit = 0.0
        """The largest credit of any domain."""
        self._changed_credits: set[str] = set()
        self.with_robots_slots: list[HostRow] = []
        """The hosts that were asked for their robots.txt when they were stored."""

    def load(self, row: HostRow) -> None:
        """Take in a host that is stored; they come in the order of their ids."""
        assert row.id == len(self.keys), "hosts are numbered without gaps"
        self._append(row.key, row.domain, row.urls)
        if row.robots_slots:
            self.with_robots_slots.append(row)

    def load_domain(self, row: DomainRow) -> None:
        """Take in a domain that is stored."""
        self.domains[row.name] = row
        self.stored_domains.add(row.name)
        self.top_credit = max(self.top_credit, row.credit)

    def _append(self, key: HostKey, domain: str, urls: int) -> int:
        self.ids[key] = host = len(self.keys)
        self.keys.append(key)
        self.domain_of.append(sys.intern(domain))
        self._url_counts.append(urls)
        return host

    # -- hosts -----------------------------------------------------------------------------------

    def id_of(self, key: HostKey, domain: str) -> int:
        """Return the id of a host, which is known from now on."""
        host = self.ids.get(key)
        if host is None:
            host = self._append(key, domain, 0)
            self._pending.now.hosts[host] = HostRow(id=host, key=key, domain=domain)
        return host

    def urls_of(self, key: HostKey) -> int:
        """Return how many URLs of a host are known."""
        return self._url_counts[self.ids.get(key, 0)]

    def count_url(self, host: int) -> None:
        """Count a new URL of a host."""
        self._url_counts[host] += 1
        changes = self._pending.now
        if (row := changes.hosts.get(host)) is not None:
            row.urls = self._url_counts[host]
        else:
            changes.host_urls[host] = self._url_counts[host]

    def fetch(self, keys: Iterable[HostKey]) -> None:
        """Read the rows of these hosts ahead."""
        self._fetched.clear()
        ids = {self.ids[key] for key in keys if key in self.ids}
        missing = [
            host for host in ids if not any(host in changes.hosts for changes in self._pending)
        ]
        if missing:
            self._fetched = {row.id: row for row in self._rows.read_hosts(missing)}

    def row(self, key: HostKey) -> HostRow | None:
        """Return the row of a host as it was last saved; None if it is new."""
        host = self.ids.get(key)
        if host is None:
            return None
        for changes in self._pending:
            if (row := changes.hosts.get(host)) is not None:
                return row
        return self._fetched.pop(host, None) or self._rows.read_hosts([host])[0]

    def save(self, row: HostRow) -> None:
        """Save a host."""
        row.urls = self._url_counts[row.id]
        self._fetched.pop(row.id, None)
        self._pending.now.hosts[row.id] = row
        self._pending.now.host_urls.pop(row.id, None)

    # -- domains ---------------------------------------------------------------------------------

    def credit_of(self, domain: str) -> float:
        """Return the credit of a domain: its importance by the crawl's own links."""
        row = self.domains.get(domain)
        return 0.0 if row is None else row.credit

    def share_credit(self, links: Sequence[Link], own: str, among: int | None = None) -> None:
        """Share the credit of a page, one unit, among the other domains that it links to.

        It has `among` such links if these are not all.
        """
        others = [link.domain for link in links if link.domain != own]
        share = 1 / (among or len(others) or 1)
        for domain in others:
            row = self._domain(domain)
            row.credit += share
            self.top_credit = max(self.top_credit, row.credit)
        self._changed_credits.update(others)

    def save_credits(self) -> None:
        """Save the credits that have changed."""
        for domain in self._changed_credits:
            self._save_domain(self.domains[domain])
        self._changed_credits.clear()

    def bind_domain(self, domain: Domain) -> None:
        """Store which worker serves a domain, and until when it does so without URLs."""
        row = self._domain(domain.name)
        row.worker, row.kept_until = domain.worker, domain.kept_until
        self._save_domain(row)

    def _save_domain(self, row: DomainRow) -> None:
        self._pending.now.domains[row.name] = row
        self.stored_domains.add(row.name)

    def _domain(self, name: str) -> DomainRow:
        row = self.domains.get(name)
        if row is None:
            row = self.domains[name] = DomainRow(name)
        return row


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
        self.touched: dict[HostKey, Host] = {}
        """The hosts that have changed and are to be saved."""
        self._slow: dict[HostKey, Host] = {}
        self.with_robots_slots: dict[Host, None] = {}
        """The hosts of which a slot is taken for robots.txt."""

    def get(self, key: HostKey, domain: str) -> Host:
        """Return a host, which is active in the scheduler from now on."""
        host = self._scheduler.hosts.by_key.get(key)
        if host is None:
            host = self._scheduler.hosts.add(key, domain, self._scheduler.rules.limits(key))
            self._set_delay(host, FIRST_DELAY_S)
            row = self._memory.row(key)
            if row is not None:
                self._restore(host, row)
            kept = self._memory.domains.get(domain) if self._keeps_domains else None
            if kept is not None and host.domain.hosts == 1:
                host.domain.worker, host.domain.kept_until = kept.worker, kept.kept_until
            host.next_start = max(host.next_start, self._unsure_since + host.delay_s)
        return host

    def _restore(self, host: Host, row: HostRow) -> None:
        host.row = msgspec.structs.replace(row, robots_slots=0, robots_until=0.0)
        self._set_delay(host, row.delay_s or FIRST_DELAY_S)
        # A time later than any possible rest was written by a wrong clock.
        latest = self._opened + longest_pause_s(host.delay_s)
        host.next_start = row.next_start if row.next_start <= latest else self._opened

    def next_start_after(self, host: Host, feedback: HostFeedback) -> float:
        """Note a request and return the earliest time of the host's next one."""
        self.touched[host.key] = host
        host.note_request(
            feedback.ended, feedback.took_s, failed=feedback.failed, answered=feedback.answered
        )
        if feedback.crawl_delay_s is not None:
            host.row.crawl_delay_s = feedback.crawl_delay_s
        self._set_delay(host, host.delay_s)
        least_s = _least_delay_s(host)
        if host.limits.auto_delay:
            adapted_s = auto_delay_s(
                host.delay_s,
                host.limits.delay_s,
                took_s=feedback.took_s,
                failed=feedback.failed,
                overloaded=feedback.overloaded,
            )
            self._set_delay(host, adapted_s)
        self._watch_slow(host)
        pause_s = pause_after_request_s(
            least_s,
            took_s=feedback.took_s,
            failures=host.row.failures,
            retry_after_s=feedback.retry_after_s,
        )
        return feedback.ended + max(pause_s, host.delay_s)

    def _set_delay(self, host: Host, adapted_s: float) -> None:
        """Set the delay of a host, for which this one would fit how it has answered."""
        least_s = _least_delay_s(host)
        host.delay_s = max(least_s, adapted_s) if host.limits.auto_delay else least_s

    def next_start_unknown(self, host: Host, now: float) -> float:
        """Return the earliest time of the next request if that of the last one is unknown."""
        self.touched[host.key] = host
        return now + host.delay_s

    def count_page(self, host: Host) -> None:
        """Count a page of the host that is kept."""
        self.touched[host.key] = host
        host.row.pages += 1

    def count_received(self, host: Host, received: int) -> None:
        """Count what was received from the host."""
        self.touched[host.key] = host
        host.row.received += received

    def forgive(self, host: Host) -> None:
        """Let a host count as one that has not failed lately."""
        self.touched[host.key] = host
        host.row.failures = host.row.unanswered = 0
        self._scheduler.hosts.note_idle(host)

    def save(self) -> None:
        """Save what has changed."""
        for host in self.touched.values():
            row = msgspec.structs.replace(
                host.row,
                id=self._memory.id_of(host.key, host.domain.name),
                delay_s=host.delay_s,
                next_start=host.next_start,
            )
            self._memory.save(row)
        self.touched.clear()

    def views(self, limit: int, now: float) -> list[HostView]:
        """Return the busiest hosts and the slowest ones, at most `limit` of each."""
        working = dict.fromkeys(lease.host for lease in self._scheduler.leases.of_url.values())
        candidates = working if len(working) >= limit else self._scheduler.hosts.by_key.values()
        busiest = heapq.nlargest(
            limit, candidates, key=lambda host: (host.in_progress, host.waiting)
        )
        slowest = heapq.nlargest(limit, self._slow.values(), key=lambda host: host.mean_s)
        return [
            HostView(
                host=host.key,
                waiting=host.waiting,
                in_progress=host.in_progress,
                pages=host.row.pages,
                failures=host.row.failed,
                next_in_s=host.next_start - now,
                delay_s=host.delay_s,
                mean_ms=host.mean_s * 1000,
            )
            for host in {host.key: host for host in busiest + slowest}.values()
        ]

    def _watch_slow(self, host: Host) -> None:
        self._slow[host.key] = host
        if len(self._slow) > 2 * SLOW_HOSTS:
            slowest = heapq.nlargest(SLOW_HOSTS, self._slow.values(), key=lambda host: host.mean_s)
            self._slow = {host.key: host for host in slowest}

    # -- slots for robots.txt --------------------------------------------------------------------

    def take_robots_slot(self, host: Host, until: float) -> None:
        """Take a slot of a host; whoever is alive releases it in time."""
        host.row.robots_slots += 1
        host.row.robots_until = until
        self.with_robots_slots[host] = None
        self.touched[host.key] = host

    def release_robots_slot(self, host: Host) -> int:
        """Release a slot; return how many were: 0 if none is taken, or no longer."""
        if not host.row.robots_slots:
            return 0
        host.row.robots_slots -= 1
        if not host.row.robots_slots:
            del self.with_robots_slots[host]
        self.touched[host.key] = host
        return 1

    def end_robots_slots(self, now: float) -> list[tuple[Host, int]]:
        """Forget the slots that nobody released in time; return how many of each host."""
        overdue = [
            (host, host.row.robots_slots)
            for host in self.with_robots_slots
            if host.row.robots_until <= now
        ]
        for host, _ in overdue:
            host.row.robots_slots = 0
            del self.with_robots_slots[host]
            self.touched[host.key] = host
        return overdue


def _least_delay_s(host: Host) -> float:
    return max(host.limits.delay_s, host.row.crawl_delay_s or 0.0)
