"""The rings of hosts: a round-robin for each priority queue, for the router."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from gossamer.frontier.hosts import Host


class Rings:
    """A ring of hosts for each priority queue, so that each host has its turn.

    Hosts of which nothing can be assigned for now, in any queue, are set aside: those that rest
    for long, and those whose worker's queue is full. So the router meets each of them only once.
    """

    def __init__(self, queues: int) -> None:
        self._rings: list[deque[Host]] = [deque() for _ in range(queues)]
        self._resting: list[tuple[float, int, Host]] = []
        self._turned_away: dict[int | None, deque[Host]] = {}
        self._parked = 0

    def offer(self, host: Host) -> None:
        """Let the router find the host in every queue in which it has URLs."""
        missing = host.stocked & ~host.ringed
        if not missing or host.aside:
            return
        host.ringed = host.stocked | host.ringed
        while missing:
            queue = (missing & -missing).bit_length() - 1
            self._rings[queue].append(host)
            missing &= missing - 1

    def first(self, queue: int) -> Host | None:
        """Return the host whose turn it is in a queue."""
        ring = self._rings[queue]
        return ring[0] if ring else None

    def pass_on(self, queue: int) -> None:
        """Give the next host its turn."""
        self._rings[queue].rotate(-1)

    def remove_first(self, queue: int) -> None:
        """Remove the host whose turn it is from the ring."""
        host = self._rings[queue].popleft()
        host.ringed &= ~(1 << queue)

    def park(self, host: Host) -> None:
        """Set the host aside until shortly before its next request is due."""
        if not host.aside:
            host.aside = True
            self._parked += 1
            heappush(self._resting, (host.next_start, self._parked, host))

    def turn_away(self, host: Host, worker: int | None) -> None:
        """Set the host aside until its worker has room; None: until any worker has."""
        if not host.aside:
            host.aside = True
            self._turned_away.setdefault(worker, deque()).append(host)

    def end_rests(self, until: float) -> int:
        """Bring back the resting hosts that are due by then; return how many."""
        resting, found = self._resting, 0
        while resting and resting[0][0] <= until:
            self._bring_back(heappop(resting)[2])
            found += 1
        return found

    def crowded(self) -> list[int | None]:
        """Return the workers for which hosts are set aside; None means any worker."""
        return list(self._turned_away)

    def call_back(self, worker: int | None, wants_room: Callable[[Host], bool]) -> None:
        """Bring back hosts set aside for the worker, up to the first that can use its room."""
        waiting = self._turned_away[worker]
        wants = False
        while waiting and not wants:
            host = waiting.popleft()
            wants = wants_room(host)
            self._bring_back(host)
        if not waiting:
            del self._turned_away[worker]

    def call_all_back(self, worker: int) -> None:
        """Bring back every host set aside for the worker."""
        for host in self._turned_away.pop(worker, ()):
            self._bring_back(host)

    def _bring_back(self, host: Host) -> None:
        host.aside = False
        self.offer(host)
