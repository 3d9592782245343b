"""Priority queues: the table from score to queue, and the router's draw.

The draw picks a number from 0 to 100 that falls the more often the lower it is, and takes the queue
in whose range it lies. The density falls in a straight line from 0 to 100, so that of n queues
queue i (from 0) is drawn in (2(n - i) - 1) of n² cases: of ten queues the first in 19 %, the last
in 1 %. Good scores go first most of the time, and no queue waits for ever.
"""

import math
import random
from bisect import bisect_right
from itertools import pairwise
from typing import Final

import msgspec

from gossamer.errors import UsageError

MAX_SCORE: Final = 100.0


class QueueRow(msgspec.Struct, frozen=True):
    """A line of the table: the queue takes scores from `low` up to, not including, `high`.

    The last queue takes 100 as well.
    """

    queue: int
    low: float
    high: float


class QueueTable:
    """Divides the scores from 0 (first) to 100 (last) evenly among numbered queues."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise UsageError(f"There must be at least one priority queue, not {count}.")
        borders = [MAX_SCORE * i / count for i in range(count + 1)]
        self._lows = borders[:-1]
        self._rows = tuple(
            QueueRow(i, low, high) for i, (low, high) in enumerate(pairwise(borders))
        )

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> tuple[QueueRow, ...]:
        """Return the table, for people and for the router."""
        return self._rows

    def queue_of(self, score: float) -> int:
        """Return the queue for a score; one out of range goes to the nearest, NaN to the last."""
        if math.isnan(score):
            return len(self._rows) - 1
        return max(0, bisect_right(self._lows, score) - 1)


class Draw:
    """Says in which order the router looks into the queues; repeatable for a seed."""

    def __init__(self, table: QueueTable, seed: int, *, strict: bool = False) -> None:
        self._table = table
        self._strict = strict
        self._random = random.Random(seed)  # noqa: S311 - a lottery of URLs, no secret
        count = len(table)
        self._after = tuple(
            tuple((queue + step) % count for step in range(1, count)) for queue in range(count)
        )

    def draw(self) -> int:
        """Return the queue to look into: the first if strict, otherwise one by lot."""
        if self._strict:
            return 0
        # The inverse of the distribution function 1 - (1 - x/100)².
        return self._table.queue_of(MAX_SCORE * (1 - math.sqrt(1 - self._random.random())))

    def order_after(self, queue: int) -> tuple[int, ...]:
        """Return the other queues, in the order to look into them when this one has nothing.

        First those of higher scores, then from the front.
        """
        return self._after[queue]

    def order(self) -> tuple[int, ...]:
        """Draw, and return all queues in the order to look into them."""
        queue = self.draw()
        return (queue, *self._after[queue])

    def shares(self) -> tuple[float, ...]:
        """Return for each queue how often it is drawn, as a part of 1."""
        if self._strict:
            return (1.0,) + (0.0,) * (len(self._table) - 1)
        return tuple(
            (1 - row.low / MAX_SCORE) ** 2 - (1 - row.high / MAX_SCORE) ** 2
            for row in self._table.rows()
        )
