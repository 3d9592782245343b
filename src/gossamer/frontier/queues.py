"""The priority queues: the table from score to queue, and the weighted random draw of a queue.

The draw picks a random score from 0 to 100 whose density falls linearly, and takes the queue in
whose range it is. So of n queues queue i (from 0) is drawn in (2(n - i) - 1) of n² cases: of ten
queues the first in 19 %, the last in 1 %. Good scores go first most of the time, and no queue
waits for ever.
"""

import math
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import pairwise
from typing import Final

import msgspec

from gossamer.frontier.hosts import Host
from gossamer.model.errors import UsageError

MAX_SCORE: Final = 100.0


class QueueRow(msgspec.Struct, frozen=True):
    """A row of the table: the queue holds scores from `low` up to, not including, `high`.

    The last queue holds 100 as well.
    """

    queue: int
    low: float
    high: float


class QueueTable:
    """The table that divides the scores from 0 (first) to 100 (last) evenly among the queues."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise UsageError(f"there must be at least one priority queue, not {count}")
        borders = [MAX_SCORE * i / count for i in range(count + 1)]
        self._lows = borders[:-1]
        self._rows = tuple(
            QueueRow(i, low, high) for i, (low, high) in enumerate(pairwise(borders))
        )

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> tuple[QueueRow, ...]:
        """Return the rows of the table."""
        return self._rows

    def queue_of(self, score: float) -> int:
        """Return the queue for a score; one out of range goes to the nearest, NaN to the last."""
        if math.isnan(score):
            return len(self._rows) - 1
        return max(0, bisect_right(self._lows, score) - 1)


class Draw:
    """The order in which the router tries the queues; repeatable for a seed."""

    def __init__(self, table: QueueTable, seed: int, *, strict: bool = False) -> None:
        self._table = table
        self._strict = strict
        self._random = random.Random(seed)  # noqa: S311 - not a secret
        count = len(table)
        self._orders = tuple(
            tuple((queue + step) % count for step in range(count)) for queue in range(count)
        )

    def draw(self) -> int:
        """Return the queue to try first: queue 0 if strict, otherwise a weighted random one."""
        if self._strict:
            return 0
        # The inverse of the distribution function 1 - (1 - x/100)².
        return self._table.queue_of(MAX_SCORE * (1 - math.sqrt(1 - self._random.random())))

    def order(self) -> tuple[int, ...]:
        """Draw a queue; return it and, in the order to try when it is empty, the others.

        These are first the ones of higher scores, then those from the front.
        """
        return self._orders[self.draw()]


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
