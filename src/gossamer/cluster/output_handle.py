"""The process that writes the outputs, as its coordinator sees it: started, watched, replaced."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from gossamer.channel import Channel, ChannelClosedError, Served
from gossamer.channel.channel import ERRORS, methods_of
from gossamer.cluster.launcher import Launcher
from gossamer.cluster.output_process import (
    OUTPUT_CONTRACTS,
    OUTPUT_CONTROL,
    OUTPUT_FEED,
    OutputOrder,
)
from gossamer.errors import CrawlError, GossamerError
from gossamer.outputs.contract import OutputReport

MOST_DEATHS: Final = 5
"""How often in a row it may die without having made anything durable."""


class OutputHandle:
    """The process that writes the outputs of a crawl; who dies is replaced."""

    def __init__(self, launcher: Launcher, order: OutputOrder, say: Callable[[str], None]) -> None:
        self._launcher = launcher
        self._order = order
        self._say = say
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._finishing = asyncio.Event()
        self._deaths = 0
        self._served = Served(contract=OUTPUT_FEED, target=methods_of(OUTPUT_FEED, self))
        self.number = 0
        """Up to which result all outputs are durable."""

    def finish(self) -> None:
        """Have everything written that is in the log; `run` returns then."""
        self._finishing.set()

    async def run(self) -> list[OutputReport]:
        """Have the outputs written, until they are finished; raise why they cannot be written."""
        while True:
            pid, end = await self._launcher.start_writer()
            channel = await Channel.open(end, OUTPUT_CONTRACTS, [self._served])
            try:
                return await self._write(channel)
            except ChannelClosedError:
                if self._launcher.has_orphaned(pid):
                    continue  # it was ended for no fault of its own, and the launcher has told so
                self._deaths += 1
                if self._deaths > MOST_DEATHS:
                    words = "the process that writes the outputs keeps dying: see what it said"
                    raise CrawlError(words) from None
                self._say("the process that writes the outputs died and is replaced")
            finally:
                channel.abort()
                self._launcher.kill(pid)  # its successor waits for the locks of the outputs

    async def _write(self, channel: Channel) -> list[OutputReport]:
        control = OUTPUT_CONTROL.proxy(channel)
        await control.begin(self._order)
        finishing = asyncio.create_task(self._finishing.wait())
        try:
            events: list[asyncio.Future[Any]] = [finishing, self._failed, channel.closed]
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
        finally:
            finishing.cancel()
        if self._failed.done():
            self._failed.result()
        return await control.finish()

    # -- what it tells ---------------------------------------------------------------------------

    async def kept(self, number: int) -> None:
        """Note up to which result all outputs are durable."""
        if number > self.number:  # a successor begins with what was durable already
            self._deaths = 0
        self.number = number

    async def waits(self, words: str) -> None:
        """Say that the store is waited for."""
        self._say(words)

    async def failed(self, kind: str, words: str) -> None:
        """Note why the outputs cannot be written."""
        error: GossamerError = ERRORS.get(kind, CrawlError)(words)
        if not self._failed.done():
            self._failed.set_exception(error)
