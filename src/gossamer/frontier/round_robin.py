"""The order in which the router comes to the hosts of each priority queue."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from gossamer.frontier.hosts import Host


class RoundRobin:
    """The hosts of each priority queue in a circle, so that each has its turn.

    Hosts of which nothing can be assigned for now, in any queue, are set aside: those that rest
    for long, and those whose worker's queue is full. So the router meets each of them only once.
    """

    def __init__(self, queues: int) -> None:
        self._queues: list[deque[Host]] = [deque() for _ in range(queues)]
        self._resting: list[tuple[float, int, Host]] = []
        self._set_aside: dict[int | None, deque[Host]] = {}
        self._parked = 0

    @property
    def has_any(self) -> bool:
        """Whether there is a host in any queue."""
        return any(self._queues)

    def offer(self, host: Host) -> None:
        """Let the router find the host in every queue in which it has URLs."""
        missing = host.stocked & ~host.queued_in
        if not missing or host.is_paused:
            return
        host.queued_in = host.stocked | host.queued_in
        while missing:
            queue = (missing & -missing).bit_length() - 1
            self._queues[queue].append(host)
            missing &= missing - 1

    def first(self, queue: int) -> Host | None:
        """Return the host whose turn it is in a queue."""
        hosts = self._queues[queue]
        return hosts[0] if hosts else None

    def pass_on(self, queue: int) -> None:
        """Give the next host its turn."""
        self._queues[queue].rotate(-1)

    def remove_first(self, queue: int) -> None:
        """Remove the host whose turn it is from a queue."""
        host = self._queues[queue].popleft()
        host.queued_in &= ~(1 << queue)

    def park(self, host: Host) -> None:
        """Set the host aside until shortly before its next request is due."""
        if not host.is_paused:
            host.is_paused = True
            self._parked += 1
            heappush(self._resting, (host.next_start, self._parked, host))

    def set_aside(self, host: Host, worker: int | None) -> None:
        """Set the host aside until its worker has room; None: until any worker has."""
        if not host.is_paused:
            host.is_paused = True
            self._set_aside.setdefault(worker, deque()).append(host)

    def end_rests(self, until: float) -> int:
        """Bring back the resting hosts that are due by then; return how many."""
        resting, count = self._resting, 0
        while resting and resting[0][0] <= until:
            self._bring_back(heappop(resting)[2])
            count += 1
        return count

    def crowded(self) -> list[int | None]:
        """Return the workers for which hosts are set aside; None means any worker."""
        return list(self._set_aside)

    def resume(self, worker: int | None, wants_room: Callable[[Host], bool]) -> None:
        """Bring back hosts set aside for the worker, up to the first that can use its room."""
        waiting = self._set_aside[worker]
        wants = False
        while waiting and not wants:
            host = waiting.popleft()
            wants = wants_room(host)
            self._bring_back(host)
        if not waiting:
            del self._set_aside[worker]

    def resume_all(self, worker: int) -> None:
        """Bring back every host set aside for the worker."""
        for host in self._set_aside.pop(worker, ()):
            self._bring_back(host)

    def _bring_back(self, host: Host) -> None:
        host.is_paused = False
        self.offer(host)
