"""The hosts that each worker may ask next, and those that all workers share."""

import math
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count

from gossamer.frontier.hosts import ANYONE, Host
from gossamer.frontier.rules import SchedulerRules, may_try
from gossamer.stores.rows import Item

ASK_AGAIN_S = 0.05
"""When to ask again for what others may release at any time."""
Entry = tuple[Item, int, Host]
"""A ready host, after its rank and its ticket. The smallest goes first."""


def _never(_: Host) -> bool:
    return False


class DueHosts:
    """The hosts with URLs assigned to a worker, each with one entry: resting, or ready.

    Of the ready hosts the one that has waited longest comes first; in strict order the one with
    the best URL. Those that are not proven are apart, as they may not have every slot. An entry is
    valid while its ticket is the host's: resetting the ticket invalidates the entry, which is then
    skipped when its turn comes.

    The shared hosts are in one for all workers.
    """

    def __init__(self, tickets: "count[int]", now: float, *, strict: bool) -> None:
        self.load = 0
        """How many URLs are assigned to the worker."""
        self.in_progress = 0
        """How many URLs it works on."""
        self.unproven = 0
        """How many of those are of hosts that had not answered before."""
        self.slots = 0
        """How many URLs it can work on, as it said last."""
        self.served: dict[Host, None] = {}
        """The hosts that these belong to, in the order in which they came."""
        self.seen_at = now
        """When the worker last gave a sign of life."""
        self._tickets = tickets
        self._strict = strict
        self._resting: list[tuple[float, int, Host]] = []
        self._ready: list[Entry] = []
        self._unproven: list[Entry] = []
        """Those ready whose hosts are not proven."""

    @property
    def to_do(self) -> int:
        """How many URLs the worker has, assigned or in progress."""
        return self.load + self.in_progress

    def count(self, host: Host, number: int) -> None:
        """Count URLs of the host that were assigned, or taken away if the number is negative."""
        self.load += number
        if host.assigned:
            self.served[host] = None
        else:
            self.served.pop(host, None)

    def enter(self, host: Host) -> None:
        """Add an entry for the host, if it has none."""
        if not host.ticket:
            host.ticket = next(self._tickets)
            heappush(self._resting, (host.free_at, host.ticket, host))

    def first(self, now: float, skips: Callable[[Host], bool] = _never) -> Entry | None:
        """Return the host to fetch from now, None if there is none; it keeps its entry.

        Hosts to be skipped stay where they are.
        """
        if not self.load:
            return None
        self._end_rests(now)
        first = self._first_of(self._ready, now, skips)
        if self._unproven and may_try(self.slots, self.unproven):
            other = self._first_of(self._unproven, now, skips)
            return first if other is None or (first is not None and first < other) else other
        return first

    def _first_of(
        self, ready: list[Entry], now: float, skips: Callable[[Host], bool]
    ) -> Entry | None:
        first, skipped = None, []
        while ready:
            entry = ready[0]
            _, ticket, host = entry
            if ticket == host.ticket and host.free_at <= now and not skips(host):
                first = entry
                break
            heappop(ready)
            if ticket != host.ticket:
                continue
            if host.free_at <= now:
                skipped.append(entry)
            else:  # it had another request meanwhile
                heappush(self._resting, (host.free_at, ticket, host))
        for entry in skipped:
            heappush(ready, entry)
        return first

    def wake_at(self) -> float | None:
        """Return when the next host is due, None if there is none; to be called after `first`."""
        resting = self._resting
        while resting and resting[0][1] != resting[0][2].ticket:
            heappop(resting)
        return resting[0][0] if resting else None

    def count_due(self, moment: float) -> int:
        """Return how many hosts could have been fetched from at that time."""
        ready = (entry[1:] for entries in (self._ready, self._unproven) for entry in entries)
        return sum(
            ticket == host.ticket and host.free_at <= moment
            for entries in (ready, self._resting_until(moment))
            for ticket, host in entries
        )

    def _resting_until(self, moment: float) -> Iterator[tuple[int, Host]]:
        """Yield the entries of the heap up to a time, without touching the others."""
        resting, places = self._resting, [0]
        while places:
            place = places.pop()
            if place < len(resting) and resting[place][0] <= moment:
                yield resting[place][1:]
                places += (2 * place + 1, 2 * place + 2)

    def _end_rests(self, now: float) -> None:
        """Move the hosts that are due to the ready ones."""
        resting = self._resting
        while resting and resting[0][0] <= now:
            since, ticket, host = heappop(resting)
            if ticket != host.ticket:
                continue
            if host.free_at > now:
                heappush(resting, (host.free_at, ticket, host))
            else:
                rank = host.assigned[0] if self._strict else (since, ticket)
                ready = self._ready if host.is_proven else self._unproven
                heappush(ready, (rank, ticket, host))


class AllDueHosts:
    """The due hosts of the workers that take part, by number; `ANYONE` has the shared ones."""

    def __init__(self, rules: SchedulerRules) -> None:
        self._rules = rules
        self._tickets = count(1)
        self._due_hosts: dict[int, DueHosts] = {}
        self._common = DueHosts(self._tickets, math.inf, strict=rules.strict)

    def __len__(self) -> int:
        return len(self._due_hosts)

    def __contains__(self, worker: int | None) -> bool:
        return worker in self._due_hosts

    def __getitem__(self, worker: int) -> DueHosts:
        return self._common if worker == ANYONE else self._due_hosts[worker]

    def of(self, host: Host) -> DueHosts:
        """Return the due hosts of the worker to which URLs of the host are assigned."""
        assert host.worker is not None
        return self[host.worker]

    def join(self, worker: int, now: float) -> None:
        """Add a worker, or note that it is still alive."""
        due_hosts = self._due_hosts.get(worker)
        if due_hosts is None:
            self._due_hosts[worker] = DueHosts(self._tickets, now, strict=self._rules.strict)
        else:
            due_hosts.seen_at = max(due_hosts.seen_at, now)

    def remove(self, worker: int) -> None:
        """Remove a worker to which nothing is assigned."""
        del self._due_hosts[worker]

    def least_loaded(self) -> int | None:
        """Return the worker with the least to do whose queue has room; None: no queue has.

        What is in progress counts as well: a worker that hangs has it for long, and one whose only
        host rests between two pages has a queue as empty as one without a host.
        """
        return min(
            (worker for worker in self._due_hosts if self.space(worker) > 0),
            key=lambda worker: (self._due_hosts[worker].to_do, worker),
            default=None,
        )

    def space(self, worker: int) -> int:
        """Return how many URLs the worker's queue has room for."""
        return self._rules.worker_queue - self[worker].load

    def first(self, worker: int, now: float) -> Entry | None:
        """Return the entry of the host to fetch from now, the worker's own or a shared one.

        Shared hosts of which the worker has its share are skipped: no more than it has leases.
        """
        own = self._due_hosts[worker].first(now)
        if not self._common.load:
            return own
        share, workers = self._rules.share, len(self._due_hosts)
        shared = self._common.first(
            now, lambda host: host.shares.get(worker, 0) >= share(host, workers)
        )
        if own is None or shared is None:
            return shared if own is None else own
        return own if own < shared else shared

    def wake_at(self, worker: int, now: float) -> float | None:
        """Return when the worker has to ask again, if `first` returns nothing now."""
        own = self._due_hosts[worker].wake_at()
        if not self._common.load:
            return own
        shared = self._common.wake_at()
        return min(moment for moment in (own, shared, now + ASK_AGAIN_S) if moment is not None)

    def silent(self, since: float) -> list[int]:
        """Return the workers without a sign of life since then."""
        return [
            worker for worker, due_hosts in self._due_hosts.items() if due_hosts.seen_at <= since
        ]

    def by_worker(self) -> list[tuple[int, DueHosts]]:
        """Return those of each worker, by number."""
        return sorted(self._due_hosts.items())

    def ready_hosts(self, since: float) -> int:
        """Return how many hosts wait for their worker since then, and how many shared ones wait."""
        due = sum(due_hosts.count_due(since) for due_hosts in self._due_hosts.values())
        return due + len(self._common.served)
