"""The frontier of a shared crawl as a process of its own: it stands by, and takes over."""

import asyncio

from gossamer.config import CrawlOptions, StoreAddress
from gossamer.coordinator.coordinate import FRONTIER, OpenRequest, open_to_lead
from gossamer.coordinator.engine import Engine, make_engine
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.processes.join import found_crawl
from gossamer.coordinator.processes.worker_client import Listener
from gossamer.coordinator.processes.worker_config import steady_clock
from gossamer.coordinator.scoring import load_scorer
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.lead import LeadLostError
from gossamer.stores.redis.rows import stand_by

INTERRUPTED = "interrupted"


class NoWorkers:
    """The workers of a frontier that has none of its own."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Wait until stopped."""
        await self._stopped.wait()

    def wake(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped.set()

    def report(self) -> list[ModuleReport]:
        """Return nothing: there are no modules."""
        return []


class StandbyFrontier:
    """Waits until nobody leads a crawl, is its frontier then, and gives it back to a coordinator.

    A process that stood still, so that another one leads by now, stands by again.
    """

    def __init__(self, own: CrawlOptions, listener: Listener) -> None:
        self._own = own
        self._listener = listener
        self._clock = steady_clock()
        self._stopped = asyncio.Event()
        self._engine: Engine | None = None
        self._is_wanted = False

    def stop(self) -> None:
        """Leave soon."""
        self._stopped.set()
        if self._engine is not None:
            self._engine.stop()

    def report(self) -> list[ModuleReport]:
        """Return nothing: a frontier has no modules."""
        return []

    async def run(self) -> str:
        """Stand by or lead until the end of the crawl; return what ended it, or `interrupted`."""
        say = self._listener.say
        async with found_crawl(self._own, say) as (address, _, plan, _):
            await load_scorer(plan).close()  # what it lacks is said before it is needed
            say("info", f"stands by for the crawl {plan.name}")
            while not self._stopped.is_set():
                try:
                    ended_by = await self._take_turn(address, plan)
                except LeadLostError as error:
                    say("warning", f"{error}; stands by again")
                    continue
                if ended_by is not None:
                    return ended_by
        return INTERRUPTED

    async def _take_turn(self, address: RedisAddress, plan: Plan) -> str | None:
        """Stand by and lead once; return what ended the crawl, or None."""
        say = self._listener.say
        async with stand_by(address, plan.name, FRONTIER, say, self._stopped) as rows:
            if rows is None:
                return None
            scorer = load_scorer(plan)
            request = OpenRequest(
                address=StoreAddress("redis", url=address.url()),
                name=plan.name,
                directory=None,
                rules=plan.store_rules(strict=scorer.strict),
                check=lambda _: None,
                clock=self._clock,
                set_clock=self._clock.set,
                say=say,
            )
            try:
                async with open_to_lead(rows, address, request) as crawl:
                    if (ended_by := await crawl.frontier.ended_by()) is not None:
                        return ended_by
                    say("info", f"leads the crawl {plan.name}")

                    def check() -> None:
                        self._is_wanted = rows.is_lead_wanted()

                    async def tick() -> None:
                        await crawl.frontier.between_commits(check)
                        if self._is_wanted:
                            engine.stop()

                    engine = self._engine = make_engine(crawl, plan, scorer, say, tick)
                    ended_by = await engine.run(NoWorkers())
                    if self._is_wanted:
                        say("info", "a coordinator is back, and leads the crawl; stands by again")
                    return None if ended_by == INTERRUPTED else ended_by
            finally:
                self._engine, self._is_wanted = None, False
                await scorer.close()
