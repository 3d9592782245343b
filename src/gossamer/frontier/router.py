"""The prioritiser and the router: URLs get scores, and are assigned to workers.

A score leads to a priority queue. Of these the router draws a random score from 0 to 100 whose
density falls linearly, and takes the queue in whose range it is. So of n queues queue i (from 0) is
drawn in (2(n - i) - 1) of n² cases: of ten queues the first in 19 %, the last in 1 %. Good scores
go first most of the time, and no queue waits for ever.
"""

import asyncio
import math
import random
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.model.errors import UsageError

if TYPE_CHECKING:
    from gossamer.frontier.contract import FrontierClient
    from gossamer.frontier.scorers.builtin import Scorer

MAX_SCORE: Final = 100.0
SCORED_AT_ONCE = 200
"""So that a step takes some milliseconds: others wait for it."""
DRAWS_AT_ONCE = 8
"""Few, because a draw assigns several URLs of a host."""


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


class Router:
    """The prioritiser and router of one crawl."""

    def __init__(
        self,
        frontier: "FrontierClient",
        scorer: "Scorer",
        draw: Draw,
        clock: Callable[[], float],
        on_assigned: Callable[[], None],
    ) -> None:
        self._frontier = frontier
        self._scorer = scorer
        self._draw = draw
        self._clock = clock
        self._on_assigned = on_assigned
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Wake up and check whether there is something to do."""
        self._news.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            self._news.clear()
            if not await self.step():
                await self._news.wait()
            else:
                # A step may finish without waiting: let other tasks run.
                await asyncio.sleep(0)

    async def step(self) -> bool:
        """Score and assign what there is; return whether there was anything."""
        candidates = await self._frontier.candidates(SCORED_AT_ONCE)
        if candidates:
            scores = await self._scorer.score(candidates)
            await self._frontier.prioritise(
                [
                    (candidate, score if candidate.score is None else candidate.score)
                    for candidate, score in zip(candidates, scores, strict=True)
                ]
            )
        orders = [self._draw.order() for _ in range(DRAWS_AT_ONCE)]
        assigned = await self._frontier.route(orders, self._clock())
        if not candidates and not assigned:
            return False
        # Workers also wait for scores: while the URL queue is full, and in strict order.
        self._on_assigned()
        return True
