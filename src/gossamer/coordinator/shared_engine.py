"""The engine of a crawl on a shared store: its frontier polls, and other processes may lead it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from gossamer.cluster.frontier_role import FrontierRole
from gossamer.coordinator.engine import TICK_EVERY_S, Workers
from gossamer.errors import CrawlError
from gossamer.stores.opening import OPTIONS_NOTE, OpenedCrawl

CHECK_EVERY_S = 0.1


class SharedEngine:
    """Runs one crawl that other processes may work on as well."""

    def __init__(
        self, opened: OpenedCrawl, frontier: FrontierRole, on_tick: Callable[[], Awaitable[None]]
    ) -> None:
        self._opened = opened
        self._frontier = frontier
        self._on_tick = on_tick
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Let the workers of this process finish what is in progress."""
        self._stopped.set()

    def settled(self) -> None:
        """Do nothing: the frontier polls."""

    async def run(self, workers: Workers) -> str:
        """Crawl until it is over or stopped; return what ended it."""
        leading, work = asyncio.create_task(self._lead()), asyncio.create_task(workers.run())
        try:
            ended_by = await self._end([leading, work])
            workers.stop()
            await work
        finally:
            for one in (leading, work):
                one.cancel()
            await asyncio.gather(leading, work, return_exceptions=True)
        store = self._opened.store
        ended_by = ended_by or await store.ended_by()
        if await store.note(OPTIONS_NOTE) is None:
            raise CrawlError(
                f"{self._opened.where} is not there any more: it was deleted, or the server has "
                "lost its data"
            )
        return ended_by or "interrupted"

    async def _lead(self) -> None:
        await self._frontier.run()

    async def _end(self, helpers: Sequence["asyncio.Task[None]"]) -> str | None:
        """Show how far the crawl is, until it is over or stopped; return what ended it."""
        loop, tick_at = asyncio.get_running_loop(), 0.0
        while not self._stopped.is_set():
            ended_by = await self._opened.store.ended_by()
            if ended_by is not None:
                return ended_by
            for one in helpers:
                if one.done():
                    one.result()
            if loop.time() >= tick_at:
                tick_at = loop.time() + TICK_EVERY_S
                await self._on_tick()
                await self._opened.keep()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), CHECK_EVERY_S)
        return None
