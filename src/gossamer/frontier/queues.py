"""The priority queues: the table from score to queue, and the weighted random draw of a queue.

The draw picks a random score from 0 to 100 whose density falls linearly, and takes the queue in
whose range it is. So of n queues queue i (from 0) is drawn in (2(n - i) - 1) of n² cases: of ten
queues the first in 19 %, the last in 1 %. Good scores go first most of the time, and no queue
waits for ever.
"""

import math
import random
from bisect import bisect_right
from itertools import pairwise
from typing import Final

import msgspec

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
