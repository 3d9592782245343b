"""The outputs of a crawl that runs: written beside it until it is over, and completed then."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.outputs.contract import OutputReport

DROP_EVERY_S = 1.0
SHOW_EVERY_S = 1.0


class OutputsAtWork(Protocol):
    """Whoever writes the outputs."""

    @property
    def number(self) -> int:
        """Up to which result all of them are durable."""

    async def run(self) -> list[OutputReport]:
        """Write until finished; raise why that cannot be done."""

    def finish(self) -> None:
        """Write what is left in the log, and complete the outputs: `run` returns then."""


class CrawlOutputs:
    """The outputs of one process of a crawl."""

    def __init__(
        self,
        work: OutputsAtWork,
        drop: Callable[[int], Awaitable[None]],
        on_failure: Callable[[], None],
    ) -> None:
        """Begin; `drop` has the store forget the rows up to a result, which the outputs have."""
        self._work = work
        self._drop = drop
        self._writing = asyncio.create_task(work.run())
        self._dropping = asyncio.create_task(self._drop_regularly())
        for one in (self._writing, self._dropping):
            one.add_done_callback(
                lambda done: None if done.cancelled() or not done.exception() else on_failure()
            )

    async def finish(self, meanwhile: Callable[[int], Awaitable[None]]) -> list[OutputReport]:
        """Have the outputs completed; return what they hold, or raise why that cannot be done.

        That may take long: `meanwhile` is told now and then up to which result they are written.
        """
        if self._dropping.done():
            self._dropping.result()
        self._work.finish()
        await asyncio.wait([self._writing], timeout=SHOW_EVERY_S)
        while not self._writing.done():
            await meanwhile(self._work.number)
            await asyncio.wait([self._writing], timeout=SHOW_EVERY_S)
        written = self._writing.result()
        await self._drop(self._work.number)
        return written

    async def close(self) -> None:
        """End the work, whatever its state."""
        for one in (self._writing, self._dropping):
            one.cancel()
        await asyncio.gather(self._writing, self._dropping, return_exceptions=True)

    async def _drop_regularly(self) -> None:
        dropped = 0
        while True:
            await asyncio.sleep(DROP_EVERY_S)
            if self._work.number > dropped:
                dropped = self._work.number
                await self._drop(dropped)
