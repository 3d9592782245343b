"""The frontier as a process: one leads, any others stand by."""

import asyncio
import secrets
from contextlib import suppress

from gossamer.cluster.poll_interval import PollInterval
from gossamer.errors import CrawlError
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.scorers import Scorer
from gossamer.modules import ModuleReport
from gossamer.plan import Plan, steady_clock
from gossamer.plan.scoring import load_scorer
from gossamer.plan.watched_scorer import Say, WatchedScorer
from gossamer.stores.contract import Store
from gossamer.stores.opening import Leadership

ROLE = "frontier"
LEADS_FOR_S = 5.0
"""How long nobody else may lead after the last word of the one that does."""
CHECK_EVERY_S = 0.25
"""How often it looks whether the crawl is over, and whether it still leads."""
REAP_EVERY_S = 5.0


class FrontierRole:
    """Scores what was found and assigns it to the workers, while nobody else does."""

    def __init__(self, plan: Plan, store: Store, leadership: Leadership, scorer: Scorer) -> None:
        self._plan, self._store, self._leadership = plan, store, leadership
        self._scorer = scorer
        self._reap_every_s = min(REAP_EVERY_S, plan.options.lease_s / 8)
        self._clock = steady_clock()
        self._me = secrets.token_hex(8)
        self._stopped = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Let another one take over."""
        self._stopped.set()

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        try:
            while not self._stopped.is_set():
                ended_by = await self._store.ended_by()
                if ended_by is not None:
                    return ended_by
                await self._take_part()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), CHECK_EVERY_S)
            return "interrupted"
        finally:
            await self._rest()
            with suppress(CrawlError):  # it ends by itself
                await self._leadership.resign(ROLE, self._me)

    async def _take_part(self) -> None:
        """Begin to work if nobody else leads, and stop when somebody else does."""
        try:
            leads = await self._leadership.lead(ROLE, self._me, LEADS_FOR_S)
        except CrawlError:
            return  # a store that is away for a moment is waited for by its own calls
        if leads and self._work is None:
            self._work = asyncio.create_task(self._lead())
        elif not leads:
            await self._rest()
        if self._work is not None and self._work.done():
            self._work.result()

    async def _rest(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
            self._work = None

    async def _lead(self) -> None:
        options = self._plan.options
        draw = Draw(QueueTable(options.queues), options.draw_seed, strict=self._scorer.strict)
        frontier = Frontier(self._store, self._scorer, draw, self._clock, lambda: None)
        reap_at, poll_interval = 0.0, PollInterval()
        while True:
            now = self._clock()
            if now >= reap_at:
                await self._store.reap(now)
                while await self._store.expire(now):
                    pass  # each is a step of its own
                reap_at = now + self._reap_every_s
            found = await frontier.step()
            pause_s = poll_interval.pause_s(found=found)
            if not found:
                await asyncio.sleep(pause_s)


class FrontierProcess:
    """The frontier of a shared crawl as a process of its own, with a scorer of its own."""

    def __init__(self, plan: Plan, store: Store, leadership: Leadership, say: Say) -> None:
        self._scorer = load_scorer(plan)
        watched = WatchedScorer(self._scorer, store, say)
        self._role = FrontierRole(plan, store, leadership, watched)
        self.stop = self._role.stop

    def report(self) -> list[ModuleReport]:
        """Return nothing: a frontier has no modules."""
        return []

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""
        try:
            return await self._role.run()
        finally:
            await self._scorer.close()
