"""The workers of a crawl as processes on this machine, with a frontier beside them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gossamer.coordinator.plan import Plan
from gossamer.coordinator.supervisor import ProcessSpec, Supervisor
from gossamer.errors import CrawlError
from gossamer.stores.contract import Store
from gossamer.stores.opening import OPTIONS_NOTE, OpenedCrawl, Say

TICK_EVERY_S = 1.0
CHECK_EVERY_S = 0.1
QUIT_WITHIN_S = 5.0
"""How long processes may take to end when the crawl is broken off."""


class WorkerProcesses:
    """Starts processes for a shared crawl, replaces those that die, and watches the crawl."""

    def __init__(
        self,
        plan: Plan,
        opened: OpenedCrawl,
        clock: Callable[[], float],
        on_tick: Callable[[Store], Awaitable[None]],
        say: Say,
    ) -> None:
        self._plan = plan
        self._opened = opened
        self._clock = clock
        self._on_tick = on_tick
        self._supervisor = Supervisor({"GOSSAMER_STORE": plan.options.store.url}, say)
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Let the processes finish what is in progress."""
        self._stopped.set()

    async def run(self) -> str:
        """Have processes work until the crawl is over or stopped; return what ended it."""
        supervisor, store = self._supervisor, self._opened.store
        if self._stopped.is_set():
            return "interrupted"
        try:
            await self._start()
            ended_by = await self._watch()
            if ended_by is None:
                supervisor.stop()
            await supervisor.see_off()
        except BaseException:
            supervisor.stop()
            await supervisor.see_off(grace_s=QUIT_WITHIN_S)
            raise
        ended_by = ended_by or await store.ended_by()
        if await store.note(OPTIONS_NOTE) is None:
            raise CrawlError(
                f"{self._opened.where} is not there any more: it was deleted, or the server has "
                "lost its data"
            )
        return ended_by or "interrupted"

    async def _start(self) -> None:
        """Start the frontier and the workers.

        Workers count from now on: the first to come up would get all domains otherwise, and keep
        them.
        """
        options = self._plan.options
        shared = ["--name", self._plan.name, "--quiet"]
        if options.insecure_store:
            shared.append("--insecure-store")

        async def frontier() -> ProcessSpec:
            return ProcessSpec("the frontier", ["frontier", *shared])

        async def worker() -> ProcessSpec:
            # A replacement gets a new number: that of the dead one is not heard of again.
            number = await self._opened.new_worker()
            await self._opened.store.join(number, self._clock())
            own = ["--id", str(number), "--dir", str(self._plan.directory)]
            alone = ["--alone"] if options.workers > 1 else []
            return ProcessSpec(f"worker {number}", ["worker", *shared, *own, *alone])

        for _ in range(options.workers):
            await self._supervisor.add(worker)
        await self._supervisor.add(frontier, needed=True)

    async def _watch(self) -> str | None:
        """Show how far the crawl is, until it is over or stopped; return what ended it."""
        tick_at = 0.0
        while not self._stopped.is_set():
            ended_by = await self._opened.store.ended_by()
            if ended_by is not None:
                return ended_by
            now = self._clock()
            if now >= tick_at:
                tick_at = now + TICK_EVERY_S
                await self._on_tick(self._opened.store)
                await self._opened.keep()
                await self._supervisor.check()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), CHECK_EVERY_S)
        return None
