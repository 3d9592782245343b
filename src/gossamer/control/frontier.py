"""The frontier at work: scores what was found, deals it to the workers."""

import asyncio
from collections.abc import Callable

from gossamer.frontier.queues import Draw
from gossamer.frontier.scorers import Scorer
from gossamer.stores.contract import Store

SCORED_AT_ONCE = 500
DRAWS_AT_ONCE = 8
"""A draw deals several URLs of a host; most of the time there is little to deal."""


class Frontier:
    """Prioritiser and router of one crawl."""

    def __init__(
        self,
        store: Store,
        scorer: Scorer,
        draw: Draw,
        clock: Callable[[], float],
        on_dealt: Callable[[], None],
        url_queue: int = SCORED_AT_ONCE,
    ) -> None:
        self._store = store
        self._scorer = scorer
        self._draw = draw
        self._clock = clock
        self._on_dealt = on_dealt
        self._at_once = min(SCORED_AT_ONCE, url_queue)
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Have a look whether there is something to do."""
        self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._news.clear()
            if not await self.step():
                await self._news.wait()
            else:
                # Others have a turn; a step does not wait for anything by itself.
                await asyncio.sleep(0)

    async def step(self) -> bool:
        """Score and deal what there is; tell whether there was anything."""
        candidates = await self._store.candidates(self._at_once)
        if candidates:
            scores = await self._scorer.score(candidates)
            await self._store.prioritise(list(zip(candidates, scores, strict=True)))
        orders = [self._draw.order() for _ in range(DRAWS_AT_ONCE)]
        dealt = await self._store.route(orders, self._clock())
        if not candidates and not dealt:
            return False
        # In strict order workers also wait for the last URL to be scored.
        self._on_dealt()
        return True
