"""Who may fetch what, and when.

The desk knows hosts, domains, workers, leases and budgets, and of URLs only their ids and scores.
It decides and remembers; it does no I/O, and time is an argument. The URLs themselves lie on the
store's shelf, so that a backlog of any size costs the desk a counter for each host and queue.

A URL's way over the desk:

    shelved    in a priority queue: counted for its host, lying on the shelf
    dealt      in the queue of the worker that serves its domain, at most `deal_ahead` for a host
    leased     in work
    (settled)  gone from the desk

Nobody waits at the desk. A queue that is full only means that `pick` offers nothing for it, so
there is no circle in which workers wait for the router while the router waits for workers, and a
slow host fills neither a worker's queue nor the memory.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from gossamer.frontier.budget import Budget
from gossamer.frontier.hosts import Domain, Host
from gossamer.model import HostKey

PROMISE_S = 1.0
"""How much later than it said a borrower may come."""


class DeskRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the desk goes by."""

    queues: int = 10
    """The number of priority queues."""
    strict: bool = False
    """Whether a URL with a better score always goes first."""
    delay_s: float = 1.0
    host_connections: int = 1
    worker_queue: int = 10_000
    """How many URLs may be dealt to one worker."""
    domain_ttl_s: float = 300.0
    """How long a worker keeps a domain without work."""
    lease_s: float = 120.0
    """How long a lease holds without being renewed."""

    @property
    def deal_ahead(self) -> int:
        """How many URLs of one host may be dealt: few enough to leave room for other hosts.

        In strict order each is chosen only when its turn has come.
        """
        return 1 if self.strict else max(1, min(256, self.worker_queue // 4))


class Lease(msgspec.Struct, frozen=True):
    """The right of one worker to work on one URL."""

    url_id: int
    number: int
    """Grows with every lease of a crawl; only the newest may settle."""
    worker: int
    score: float
    deadline: float


class Pick(msgspec.Struct, frozen=True):
    """Which URLs to take off the shelf next: the best of one host in one queue."""

    host: HostKey
    queue: int
    count: int
    worker: int


class Desk:
    """The scheduling of one crawl."""

    def __init__(self, rules: DeskRules, budget: Budget, first_lease: int = 1) -> None:
        self.rules = rules
        self.budget = budget
        self._hosts: dict[HostKey, Host] = {}
        self._domains: dict[str, Domain] = {}
        self._rings: list[deque[Host]] = [deque() for _ in range(rules.queues)]
        self._ready: dict[int, list[tuple[float, int, Host]]] = {}
        self._load: dict[int, int] = {}
        self._turned_away: dict[int | None, dict[Host, None]] = {}
        """Hosts that found their worker's queue full, in order; None: those nobody serves yet."""
        self._leases: dict[int, tuple[Lease, Host]] = {}
        self._next_lease = first_lease
        self._ticket = 0
        self.forgotten_hosts = 0
        self.shelved = 0
        """How many URLs wait in the priority queues."""

    def __repr__(self) -> str:
        return (
            f"<Desk: {len(self._hosts)} hosts, {self.shelved} shelved, {self.dealt} dealt, "
            f"{self.in_work} in work, {self.budget}>"
        )

    @property
    def dealt(self) -> int:
        """How many URLs wait in the workers' queues."""
        return sum(self._load.values())

    @property
    def in_work(self) -> int:
        """How many URLs are leased."""
        return len(self._leases)

    @property
    def host_count(self) -> int:
        """How many hosts the desk has had to do with."""
        return len(self._hosts) + self.forgotten_hosts

    def hosts(self) -> Iterable[Host]:
        """Return the hosts the desk has to do with."""
        return self._hosts.values()

    # -- hosts and workers -----------------------------------------------------------------------

    def host(self, key: HostKey, domain: str) -> Host:
        """Return the host's state, made when first asked for."""
        found = self._hosts.get(key)
        if found is None:
            owner = self._domains.get(domain)
            if owner is None:
                owner = self._domains[domain] = Domain(domain)
            empty = self.rules.queues
            found = Host(
                key, owner, self.rules.delay_s, shelved=[0] * empty, in_ring=[False] * empty
            )
            self._hosts[key] = found
        return found

    def forget_idle(self, now: float) -> None:
        """Drop the hosts and domains of which nothing is known that matters any more."""
        for key, host in list(self._hosts.items()):
            ordinary = host.delay_s == self.rules.delay_s and not host.failures
            rested = host.next_start <= now and host.domain.kept_until <= now
            if host.idle and ordinary and rested:
                del self._hosts[key]
                self.forgotten_hosts += 1
        used = {host.domain.name for host in self._hosts.values()}
        self._domains = {name: one for name, one in self._domains.items() if name in used}

    def join(self, worker: int) -> None:
        """Let a worker take part."""
        self._load.setdefault(worker, 0)
        self._ready.setdefault(worker, [])

    # -- the router's side -----------------------------------------------------------------------

    def shelve(self, host: Host, queue: int, count: int = 1) -> list[tuple[float, int]]:
        """Count URLs that were put into a priority queue.

        In strict order the host's dealt URL may no longer be its best: it is returned, to be
        shelved again by the caller.
        """
        host.shelved[queue] += count
        self.shelved += count
        self._offer(host, queue)
        if not self.rules.strict or not host.dealt:
            return []
        recalled, host.dealt = host.dealt, []
        self._undeal(host, len(recalled))
        return recalled

    def pick(self, queues: Iterable[int], now: float) -> Pick | None:
        """Choose a host and queue to deal from, trying the queues in this order."""
        if not self._load:
            return None
        for queue in queues:
            ring = self._rings[queue]
            while ring:
                host = ring[0]
                worker = self._worker_for(host.domain, now)
                room = self._deal_ahead(worker) - len(host.dealt)
                if not host.shelved[queue] or room <= 0:
                    self._leave_ring(host, queue)
                    continue
                space = self.rules.worker_queue - self._load[worker]
                if space <= 0:
                    self._leave_ring(host, queue)
                    owner = worker if self._is_held(host.domain, now) else None
                    self._turned_away.setdefault(owner, {})[host] = None
                    continue
                ring.rotate(-1)
                return Pick(host.key, queue, min(room, space, host.shelved[queue], 16), worker)
        return None

    def deal(self, pick: Pick, urls: Sequence[tuple[float, int]]) -> None:
        """Put URLs that were taken off the shelf into the worker's queue."""
        host = self._hosts[pick.host]
        host.shelved[pick.queue] -= len(urls)
        self.shelved -= len(urls)
        for item in urls:
            heapq.heappush(host.dealt, item)
        host.domain.worker = pick.worker
        host.domain.busy += len(urls)
        self._load[pick.worker] += len(urls)
        self._announce(host)

    # -- the workers' side -----------------------------------------------------------------------

    def lease(self, worker: int, limit: int, now: float) -> list[tuple[Lease, Host]]:
        """Hand out up to so many URLs of hosts whose moment has come, within the budgets."""
        ready = self._ready[worker]
        granted: list[tuple[Lease, Host]] = []
        while len(granted) < limit and ready and ready[0][0] <= now and self.budget.reserve():
            host = self._next_ready(ready, now)
            if host is None:
                self.budget.give_back()
                continue
            score, url_id = heapq.heappop(host.dealt)
            lease = Lease(url_id, self._next_lease, worker, score, now + self.rules.lease_s)
            self._next_lease += 1
            self._leases[url_id] = (lease, host)
            host.in_work += 1
            self._load[worker] -= 1
            self._announce(host)
            self._readmit(host, worker)
            granted.append((lease, host))
        return granted

    def wake_at(self, worker: int) -> float | None:
        """Return when the next of the worker's hosts may be asked; None when none waits."""
        ready = self._ready.get(worker)
        return ready[0][0] if ready else None

    def holder(self, url_id: int, number: int) -> tuple[Lease, Host] | None:
        """Return lease and host if this lease is still the URL's newest."""
        found = self._leases.get(url_id)
        return found if found is not None and found[0].number == number else None

    def renew(self, url_id: int, number: int, now: float) -> bool:
        """Extend a lease; False if it was lost."""
        found = self.holder(url_id, number)
        if found is None:
            return False
        lease = msgspec.structs.replace(found[0], deadline=now + self.rules.lease_s)
        self._leases[url_id] = (lease, found[1])
        return True

    def end(self, url_id: int, *, next_start: float, now: float) -> None:
        """Take a lease back and let the host rest until then."""
        _, host = self._leases.pop(url_id)
        host.in_work -= 1
        host.next_start = max(host.next_start, next_start)
        host.domain.busy -= 1
        host.domain.kept_until = now + self.rules.domain_ttl_s
        self._announce(host)

    def leases(self) -> list[tuple[Lease, Host]]:
        """Return what is in work."""
        return list(self._leases.values())

    def borrow(self, host: Host, now: float) -> float | None:
        """Take one of the host's places for a request without a URL of its own (robots.txt).

        Return None if it may be sent now, else when to ask again: the place is kept until then. A
        host that is always at work would never have one; but it lends only every other time.
        """
        if host.in_work >= self._places(host):
            return self._promise(host, now + max(self.rules.delay_s, 0.05))
        if host.next_start > now:
            return self._promise(host, host.next_start)
        host.in_work += 1
        host.domain.busy += 1
        host.promised_until = 0.0
        host.lent_last = True
        return None

    def hand_back(self, host: Host, next_start: float) -> None:
        """Give a borrowed place back."""
        host.in_work -= 1
        host.domain.busy -= 1
        host.next_start = max(host.next_start, next_start)
        self._announce(host)

    def overdue(self, now: float) -> list[tuple[Lease, Host]]:
        """Return the leases that were not renewed in time."""
        return [held for held in self._leases.values() if held[0].deadline <= now]

    # -- bookkeeping -----------------------------------------------------------------------------

    def _promise(self, host: Host, moment: float) -> float:
        """Keep a place of the host for whoever comes at that moment."""
        if not host.lent_last:
            host.promised_until = moment + PROMISE_S
        return moment

    def _offer(self, host: Host, queue: int) -> None:
        """Let the router find the host in this queue."""
        if host.shelved[queue] and not host.in_ring[queue]:
            host.in_ring[queue] = True
            self._rings[queue].append(host)

    def _leave_ring(self, host: Host, queue: int) -> None:
        """Take the host, the first of its ring, out of the router's sight."""
        host.in_ring[queue] = False
        self._rings[queue].popleft()

    def _readmit(self, host: Host, worker: int) -> None:
        """After a URL left the worker's queue: offer again what found no room."""
        for queue in range(self.rules.queues):
            self._offer(host, queue)
        for owner in (worker, None):
            turned_away = self._turned_away.get(owner, {})
            while turned_away:
                other = next(iter(turned_away))
                del turned_away[other]
                for queue in range(self.rules.queues):
                    self._offer(other, queue)
                if any(other.shelved):  # else it has nothing to offer any more: the next one
                    return

    def _deal_ahead(self, worker: int) -> int:
        """Return how many URLs of one host may be dealt to the worker.

        One, where its queue is half full: so the backlogs of a few hosts leave room for many.
        """
        crowded = self._load[worker] * 2 >= self.rules.worker_queue
        return 1 if crowded else self.rules.deal_ahead

    def _is_held(self, domain: Domain, now: float) -> bool:
        """Tell whether a worker serves the domain: while it has work, and some time after."""
        return domain.worker in self._load and (domain.busy > 0 or domain.kept_until > now)

    def _worker_for(self, domain: Domain, now: float) -> int:
        """Return who serves the domain: whoever holds it, or else the least loaded."""
        if self._is_held(domain, now):
            assert domain.worker is not None
            return domain.worker
        return min(self._load, key=lambda one: (self._load[one], one))

    def _places(self, host: Host) -> int:
        """Return how many requests the host may get at a time: one, where it wants pauses."""
        return 1 if host.delay_s > 0 else self.rules.host_connections

    def _announce(self, host: Host) -> None:
        """Tell the worker when the host may be asked, if it has something to ask."""
        if host.dealt and host.in_work < self._places(host):
            worker = host.domain.worker
            assert worker is not None
            self._ticket += 1
            moment = max(host.next_start, host.promised_until)
            heapq.heappush(self._ready[worker], (moment, self._ticket, host))

    def _next_ready(self, ready: list[tuple[float, int, Host]], now: float) -> Host | None:
        """Take the host that has waited longest; None if its entry is out of date."""
        _, _, host = heapq.heappop(ready)
        if not host.dealt or host.in_work >= self._places(host):
            return None
        if max(host.next_start, host.promised_until) > now:
            self._announce(host)
            return None
        host.lent_last = False
        return host

    def _undeal(self, host: Host, count: int) -> None:
        """Take URLs of the host out of its worker's queue."""
        worker = host.domain.worker
        assert worker is not None
        self._load[worker] -= count
        host.domain.busy -= count
