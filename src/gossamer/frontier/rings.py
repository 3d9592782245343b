"""Which host is next in each priority queue, for the router."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from gossamer.frontier.hosts import Host


class Rings:
    """A ring of hosts for each priority queue, so that each host has its turn.

    Beside the rings wait the hosts of which nothing can be assigned for now, whatever the queue:
    those that must rest for long, and those whose worker has no room. So the router passes each of
    them once, however often it goes round.
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
        """Let the next host have its turn."""
        self._rings[queue].rotate(-1)

    def remove_first(self, queue: int) -> None:
        """Take the host whose turn it is out of the ring."""
        host = self._rings[queue].popleft()
        host.ringed &= ~(1 << queue)

    def park(self, host: Host) -> None:
        """Leave the host aside until shortly before its next moment."""
        if not host.aside:
            host.aside = True
            self._parked += 1
            heappush(self._resting, (host.next_start, self._parked, host))

    def turn_away(self, host: Host, worker: int | None) -> None:
        """Leave the host aside until its worker has room; None: until any worker has."""
        if not host.aside:
            host.aside = True
            self._turned_away.setdefault(worker, deque()).append(host)

    def end_rests(self, until: float) -> int:
        """Let the hosts in again whose moment comes before then; return how many."""
        resting, found = self._resting, 0
        while resting and resting[0][0] <= until:
            self._let_in(heappop(resting)[2])
            found += 1
        return found

    def crowded(self) -> list[int | None]:
        """Return the workers that have turned hosts away; None stands for all of them at once."""
        return list(self._turned_away)

    def call_back(self, worker: int | None, wants_room: Callable[[Host], bool]) -> None:
        """Let the first host in again that can use the room which the worker has now."""
        line = self._turned_away[worker]
        wants = False
        while line and not wants:
            host = line.popleft()
            wants = wants_room(host)
            self._let_in(host)
        if not line:
            del self._turned_away[worker]

    def call_all_back(self, worker: int) -> None:
        """Let every host in again that the worker had turned away."""
        for host in self._turned_away.pop(worker, ()):
            self._let_in(host)

    def _let_in(self, host: Host) -> None:
        host.aside = False
        self.offer(host)
