"""The frontier of one crawl: the prioritiser scores URLs, the router assigns them to workers."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.frontier.queues import Draw
from gossamer.frontier.scorers import Scorer
from gossamer.model import Candidate

SCORED_AT_ONCE = 200
"""So that a step takes some milliseconds: others wait for it."""
DRAWS_AT_ONCE = 8
"""Few, because a draw assigns several URLs of a host."""


class FrontierStore(Protocol):
    """The part of `stores.contract.Store` that the frontier uses."""

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; skip those already moved."""

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Follow up shorter paths, and assign URLs to workers; return how much was done."""


class Router:
    """The prioritiser and router of one crawl."""

    def __init__(
        self,
        store: FrontierStore,
        scorer: Scorer,
        draw: Draw,
        clock: Callable[[], float],
        on_assigned: Callable[[], None],
    ) -> None:
        self._store = store
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
        candidates = await self._store.candidates(SCORED_AT_ONCE)
        if candidates:
            scores = await self._scorer.score(candidates)
            await self._store.prioritise(
                [
                    (one, score if one.score is None else one.score)
                    for one, score in zip(candidates, scores, strict=True)
                ]
            )
        orders = [self._draw.order() for _ in range(DRAWS_AT_ONCE)]
        assigned = await self._store.route(orders, self._clock())
        if not candidates and not assigned:
            return False
        # Workers also wait for scores: while the URL queue is full, and in strict order.
        self._on_assigned()
        return True
