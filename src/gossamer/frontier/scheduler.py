"""The scheduler of one crawl: which worker may fetch which URL, and when.

It keeps hosts, domains, workers, leases and budgets; of URLs it knows only ids and scores. It does
no I/O, and time is an argument. The URLs themselves are in memory and in rows, so that a backlog of
any size costs the scheduler one counter for each host and queue.

The states of a URL, as the scheduler sees them:

    queued     in a priority queue: counted for its host
    assigned   in the queue of the worker that serves its domain
    leased     in progress
    (done)     unknown to the scheduler

Nothing blocks here. For a worker whose queue is full, `next_assignment` just returns nothing, so
workers and router can never wait for each other in a circle.

A worker's queue holds only URLs that can be fetched soon. A host with a delay has one URL assigned
at a time, and only while none is in progress; a host that must rest for long has none, and what was
assigned before is recalled. So neither one slow host nor many can fill a worker's queue.

A host that may have several requests at once is shared: its URLs are assigned to `ANYONE`, in one
more queue of the same length, from which each worker takes up to its share of the host's slots. It
neither sets nor follows the worker of its domain.

In strict order the best known URL goes first. The assigned URLs of a host are always its best ones:
a better one that is found later is assigned at once, and replaces another if there is no room.
"""

import heapq
import math
from collections.abc import Iterable, Sequence

import msgspec

from gossamer.frontier.due_hosts import ASK_AGAIN_S, AllDueHosts
from gossamer.frontier.hosts import ANYONE, ActiveHosts, Domain, Host
from gossamer.frontier.round_robin import RoundRobin
from gossamer.frontier.rules import Budget, SchedulerRules
from gossamer.stores.rows import Item, LeaseRow

__all__ = ["ASK_AGAIN_S", "Assignment", "Scheduler", "SchedulerRules"]

SOON_S = 10.0
"""Only hosts that are due within this time get URLs assigned."""
ROBOTS_SLOT_S = 1.0
"""For how long past its time a slot is kept for a request for robots.txt."""
ASSIGNED_AT_ONCE = 16


class Lease(msgspec.Struct):
    """The exclusive right of one worker to work on one URL.

    Its number grows with every lease of a crawl, and only the newest of a URL is valid. It is
    `unproven` if the host had not answered its last request, or had none, when it was granted; a
    lease of a shared host never is, as that may have any slot.
    """

    row: LeaseRow
    host: Host


class Leases:
    """The table of leases, at most one for each URL."""

    def __init__(self, first_number: int, lease_s: float) -> None:
        self._next_number = first_number
        self._lease_s = lease_s
        self.of_url: dict[int, Lease] = {}

    def __len__(self) -> int:
        return len(self.of_url)

    def grant(self, url_id: int, worker: int, host: Host, allowed: int, now: float) -> Lease:
        """Grant a worker the lease of a URL that nobody has."""
        row = LeaseRow(
            url=url_id,
            number=self._next_number,
            worker=worker,
            deadline=now + self._lease_s,
            allowed=allowed,
            shared=host.worker == ANYONE,
            unproven=host.worker != ANYONE and not host.is_proven,
        )
        lease = Lease(row, host)
        self._next_number += 1
        self.of_url[url_id] = lease
        return lease

    def find(self, url_id: int, number: int) -> Lease | None:
        """Return the lease if it is still valid."""
        lease = self.of_url.get(url_id)
        return lease if lease is not None and lease.row.number == number else None

    def renew(self, url_id: int, number: int, now: float) -> Lease | None:
        """Extend a lease and return it; None if it was lost."""
        lease = self.find(url_id, number)
        if lease is not None:
            lease.row.deadline = max(lease.row.deadline, now + self._lease_s)
        return lease

    def of(self, worker: int) -> list[Lease]:
        """Return the leases of a worker."""
        return [lease for lease in self.of_url.values() if lease.row.worker == worker]

    def overdue(self, now: float) -> list[Lease]:
        """Return the leases that were not renewed in time."""
        return [lease for lease in self.of_url.values() if lease.row.deadline <= now]


class Assignment(msgspec.Struct, frozen=True):
    """The URLs to assign next: the best `count` of one host in one queue, to one worker."""

    host: Host
    queue: int
    count: int
    worker: int
    """`ANYONE` if the host is shared."""


class Scheduler:
    """The scheduler of one crawl."""

    def __init__(self, rules: SchedulerRules, budget: Budget, first_lease: int = 1) -> None:
        self.rules = rules
        self.budget = budget
        self.hosts = ActiveHosts(rules.queues)
        self.leases = Leases(first_lease, rules.lease_s)
        self._round_robin = RoundRobin(rules.queues)
        self.due_hosts = AllDueHosts(rules)
        self.queued = 0
        """How many URLs wait in the priority queues."""
        self.assigned = 0
        """How many URLs wait in the workers' queues."""

    def __repr__(self) -> str:
        return (
            f"<Scheduler: {len(self.hosts)} hosts, {self.queued} queued, {self.assigned} assigned, "
            f"{len(self.leases)} in progress, {self.budget}>"
        )

    # -- for the router --------------------------------------------------------------------------

    def enqueue(self, host: Host, queue: int, count: int = 1) -> None:
        """Count URLs that were put into a priority queue."""
        host.stock(queue, count)
        host.waiting += count
        self.queued += count
        self._offer(host)

    def dequeue(self, host: Host, queue: int, count: int = 1) -> None:
        """Count URLs that were taken out of a priority queue."""
        host.stock(queue, -count)
        host.waiting -= count
        self.queued -= count

    def goes_before(self, host: Host, item: Item) -> bool:
        """Return whether strict order demands that this URL of the host is assigned at once."""
        return self.rules.strict and bool(host.assigned) and item < host.last_assigned

    def assign_at_once(self, host: Host, item: Item) -> Item | None:
        """Assign a URL that goes before others; return the one that it replaces, if any."""
        host.ticket = 0  # its entry among the due hosts may have to move forward
        self._put_into_queue(host, [item])
        assert host.worker is not None
        if len(host.assigned) <= self.rules.ahead(host) and self.due_hosts.space(host.worker) >= 0:
            return None
        last = host.last_assigned
        host.assigned.remove(last)
        heapq.heapify(host.assigned)
        host.last_assigned = max(host.assigned)
        self._count_assigned(host, -1)
        return last

    def next_assignment(self, queues: Iterable[int], now: float) -> Assignment | None:
        """Choose a host, queue and worker, trying the queues in this order."""
        if not len(self.due_hosts):
            return None
        has_room = self.due_hosts.least_loaded() is not None
        if not has_room and not (self.rules.may_share and self.due_hosts.space(ANYONE) > 0):
            return None
        self._round_robin.end_rests(now + SOON_S)
        for worker in self._round_robin.crowded():
            if has_room if worker is None else self.due_hosts.space(worker) > 0:
                self._round_robin.resume(worker, self._has_room)
        for queue in queues if self._round_robin.has_any else ():
            while (host := self._round_robin.first(queue)) is not None:
                assignment = None if host.is_paused else self._consider(host, queue, now)
                if assignment is not None:
                    self._round_robin.pass_on(queue)
                    return assignment
                self._round_robin.remove_first(queue)
        return None

    def assign(self, assignment: Assignment, urls: Sequence[Item]) -> None:
        """Put URLs that were taken from a priority queue into the worker's queue."""
        host, worker = assignment.host, assignment.worker
        host.worker = worker
        if worker != ANYONE:
            host.domain.worker = worker
        self.dequeue(host, assignment.queue, len(urls))
        self._put_into_queue(host, urls)

    # -- for the workers -------------------------------------------------------------------------

    def lease(self, worker: int, limit: int, now: float) -> list[Lease]:
        """Lease up to `limit` URLs of hosts that are due, within the budgets."""
        granted: list[Lease] = []
        due_hosts = self.due_hosts[worker]
        due_hosts.slots = due_hosts.in_progress + limit
        while len(granted) < limit:
            entry = self.due_hosts.first(worker, now)
            if entry is None or not (allowed := self.budget.reserve()):
                break
            host = entry[2]
            _, url_id = heapq.heappop(host.assigned)
            host.ticket = 0
            self.due_hosts.of(host).count(host, -1)
            self.assigned -= 1
            host.waiting -= 1
            host.in_progress += 1
            host.robots_last = False
            if host.worker == ANYONE:
                host.shares[worker] = host.shares.get(worker, 0) + 1
            due_hosts.in_progress += 1
            self._announce(host)
            self._offer(host)
            lease = self.leases.grant(url_id, worker, host, allowed, now)
            due_hosts.unproven += lease.row.unproven
            granted.append(lease)
        return granted

    def resume(self, lease: Lease, now: float) -> None:
        """Go on with a lease that was granted by another scheduler."""
        worker, host = lease.row.worker, lease.host
        self.due_hosts.join(worker, now)
        self.leases.of_url[lease.row.url] = lease
        host.in_progress += 1
        self.due_hosts[worker].in_progress += 1
        self.due_hosts[worker].unproven += lease.row.unproven
        if lease.row.shared:
            host.shares[worker] = host.shares.get(worker, 0) + 1
        else:
            host.domain.worker = worker
            host.domain.busy += 1

    def wake_at(self, worker: int, now: float) -> float | None:
        """Return when to ask for leases again; None: unknown.

        That is now if a host is ready and only waits for budget that others have reserved. What
        others have of shared hosts they may release at any time.
        """
        if self.due_hosts.first(worker, now) is not None:
            return now
        return self.due_hosts.wake_at(worker, now)

    def end(self, lease: Lease, *, next_start: float, now: float) -> list[Item]:
        """End a lease and let the host rest until then; return the URLs recalled for it."""
        row, host = lease.row, lease.host
        del self.leases.of_url[row.url]
        due_hosts = self.due_hosts[row.worker]
        due_hosts.in_progress -= 1
        due_hosts.unproven -= row.unproven
        if row.shared:
            host.shares[row.worker] -= 1
            if not host.shares[row.worker]:
                del host.shares[row.worker]
        else:
            host.domain.busy -= 1
            host.domain.kept_until = now + self.rules.domain_lease_s
        return self.release_slots(host, next_start, now)

    def acquire_robots_slot(self, host: Host, now: float) -> float | None:
        """Take a slot of the host for a request for robots.txt.

        Return None if it may be sent now, else when to ask again: the slot is kept until then,
        because a busy host would never have a free one. Only every other slot is kept that way.
        """
        if host.in_progress >= self.rules.slots(host):
            return _reserve_robots_slot(host, now + max(host.delay_s, ASK_AGAIN_S))
        if host.next_start > now:
            self.hosts.note_idle(host)
            return _reserve_robots_slot(host, host.next_start)
        host.robots_slot_until = -math.inf
        host.robots_last = True
        host.in_progress += 1
        host.ticket = 0  # it may be entered for the end of the time for which a slot was kept
        self._announce(host)
        return None

    def release_slots(
        self, host: Host, next_start: float, now: float, slots: int = 1
    ) -> list[Item]:
        """Free a slot of a host, or several, and let it rest; return the URLs recalled for it."""
        host.in_progress -= slots
        host.next_start = max(host.next_start, next_start)
        recalled: list[Item] = []
        if host.assigned and self._is_misplaced(host, now):
            recalled = self._recall(host)
        self._announce(host)
        self._offer(host)
        self.hosts.note_idle(host)
        return recalled

    # -- housekeeping ----------------------------------------------------------------------------

    def end_rests(self, now: float) -> int:
        """Bring back the hosts whose long rest is nearly over; return how many."""
        return self._round_robin.end_rests(now + SOON_S)

    def dismiss_silent(self, now: float) -> list[tuple[Host, list[Item]]]:
        """Remove the workers without a sign of life; return what was assigned to them.

        A worker with a lease stays until the lease ends: its hosts must not change workers before.
        """
        busy = {lease.row.worker for lease in self.leases.of_url.values()}
        silent = self.due_hosts.silent(now - self.rules.lease_s)
        gone = [worker for worker in silent if worker not in busy]
        return [recalled for worker in gone for recalled in self.dismiss(worker)]

    def dismiss(self, worker: int) -> list[tuple[Host, list[Item]]]:
        """Remove a worker that has no lease; return what was assigned to it."""
        if worker not in self.due_hosts:
            return []
        recalled = [(host, self._recall(host)) for host in list(self.due_hosts[worker].served)]
        self.due_hosts.remove(worker)
        self._round_robin.resume_all(worker)
        return recalled

    def is_silent(self, worker: int, now: float) -> bool:
        """Return whether a worker whose lease has expired is dead, and not only slow."""
        return self.due_hosts[worker].seen_at + self.rules.lease_s / 2 <= now

    # -- inside ----------------------------------------------------------------------------------

    def _consider(self, host: Host, queue: int, now: float) -> Assignment | None:
        """Return what to assign of the host whose turn it is in a queue; None: nothing for now."""
        if self.rules.strict and host.stocked:
            queue = host.first_queue
        room = min(host.queued[queue], self.rules.room(host), ASSIGNED_AT_ONCE)
        if room <= 0:
            return None
        if host.next_start > now + SOON_S:
            self._round_robin.park(host)
            return None
        holder = ANYONE if self.rules.is_shared(host) else self._holder(host.domain, now)
        worker = self.due_hosts.least_loaded() if holder is None else holder
        space = 0 if worker is None else self.due_hosts.space(worker)
        if worker is None or space <= 0:
            self._round_robin.set_aside(host, holder)
            return None
        return Assignment(host, queue, min(room, space), worker)

    def _holder(self, domain: Domain, now: float) -> int | None:
        """Return the worker that serves the domain; None: it is free."""
        bound = domain.busy or domain.kept_until > now
        return domain.worker if bound and domain.worker in self.due_hosts else None

    def _has_room(self, host: Host) -> bool:
        return bool(host.stocked) and self.rules.room(host) > 0

    def _offer(self, host: Host) -> None:
        """Let the router find the host, if one of its URLs may be assigned."""
        if host.stocked & ~host.queued_in and self.rules.room(host) > 0:
            self._round_robin.offer(host)

    def _announce(self, host: Host) -> None:
        """Enter the host among its worker's due hosts, if it has assigned URLs and a free slot."""
        if host.in_progress >= self.rules.slots(host):
            host.ticket = 0  # it may have had more slots when it was entered
        elif host.assigned:
            self.due_hosts.of(host).enter(host)

    def _is_misplaced(self, host: Host, now: float) -> bool:
        """Return whether the assigned URLs of the host must not stay where they are."""
        return (
            host.next_start > now + SOON_S
            or len(host.assigned) > self.rules.ahead(host)
            or self.rules.is_shared(host) != (host.worker == ANYONE)
        )

    def _put_into_queue(self, host: Host, urls: Sequence[Item]) -> None:
        if self.rules.strict:
            last = max(urls)
            host.last_assigned = max(host.last_assigned, last) if host.assigned else last
        for item in urls:
            heapq.heappush(host.assigned, item)
        self._count_assigned(host, len(urls))
        self._announce(host)

    def _recall(self, host: Host) -> list[Item]:
        """Take all URLs of the host out of its worker's queue."""
        recalled, host.assigned = host.assigned, []
        host.ticket = 0
        self._count_assigned(host, -len(recalled))
        return recalled

    def _count_assigned(self, host: Host, count: int) -> None:
        self.due_hosts.of(host).count(host, count)
        self.assigned += count
        host.waiting += count
        if host.worker != ANYONE:
            host.domain.busy += count


def _reserve_robots_slot(host: Host, moment: float) -> float:
    """Keep the next slot of the host for a request for robots.txt at that time."""
    if not host.robots_last:
        host.robots_slot_until = moment + ROBOTS_SLOT_S
    return moment
