"""The writer of outputs as a process beside the workers: it follows the log, and keeps nothing.

Kill it at any moment: another one goes on where the outputs were made durable last. The outputs of
a crawl in memory are written in the same way (`OutputFollower`), in the coordinator's process.
"""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self, TypeVar

import msgspec
import uvloop

from gossamer.channel import Channel, Contract, Served
from gossamer.channel.channel import methods_of
from gossamer.config import StoreAddress, load
from gossamer.content.page_parser import ParseRules
from gossamer.coordinator.plan import Plan, parse_rules
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.modules.calls import describe
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.resumable import state_folder
from gossamer.outputs.targets import OutputWishes
from gossamer.outputs.writer import OutputWriter
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.reader import CrawlReader
from gossamer.stores.registry import reopening
from gossamer.stores.rows import ReconnectDeadline, StoreAwayError

T = TypeVar("T")

FOLLOW_EVERY_S: Final = 0.2


class OutputConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is to write, and from which crawl."""

    wishes: OutputWishes
    folder: str
    """Where the states of the outputs are."""
    store: str
    """The address of the store."""
    name: str | None
    directory: str
    rules: ParseRules
    """How kept pages are read."""

    @classmethod
    def of(cls, plan: Plan, wishes: OutputWishes, store: StoreAddress) -> Self:
        """Return what is to be written of a crawl in this store."""
        return cls(
            wishes=wishes,
            folder=str(state_folder(plan.directory).absolute()),
            store=store.url or str(store),
            name=plan.name if store.is_server else None,
            directory=str(plan.directory.absolute()),
            rules=parse_rules(plan.options),
        )


class OutputControl(Protocol):
    """What the process can be told."""

    async def write(self, config: OutputConfig) -> list[OutputReport]:
        """Write outputs; return what they hold, when they were to be finished and are."""

    async def finish(self) -> None:
        """Write what is left in the log, and complete the outputs."""


class OutputFeed(Protocol):
    """What the process tells; nothing of it is answered."""

    async def kept(self, number: int) -> None:
        """Say up to which result all outputs are durable."""

    async def waits(self, message: str) -> None:
        """Tell that the store is waited for."""


OUTPUT_CONTROL: Contract[OutputControl] = Contract(OutputControl)
OUTPUT_FEED: Contract[OutputFeed] = Contract(OutputFeed)
OUTPUT_CONTRACTS: Sequence[Contract[Any]] = (OUTPUT_CONTROL, OUTPUT_FEED)


class OutputFollower:
    """Writes outputs from the log of results, as it grows."""

    def __init__(
        self,
        writer: OutputWriter,
        open_reader: Callable[[], AbstractAsyncContextManager[CrawlReader]],
        *,
        is_lasting: bool,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare; `is_lasting`: a reader sees what comes later, as that of a file does not."""
        self._writer = writer
        self._open_reader = open_reader
        self._is_lasting = is_lasting
        self._deadline = ReconnectDeadline(say)
        self._finishing = asyncio.Event()

    @property
    def number(self) -> int:
        """Up to which result all outputs are durable."""
        return self._writer.flushed

    def finish(self) -> None:
        """Have everything written that is in the log; `run` returns then."""
        self._finishing.set()

    async def run(self) -> list[OutputReport]:
        """Write the outputs, until they are finished; return what they hold."""
        try:
            self._writer.lock()
            await self._read(self._writer.open)
            while not self._finishing.is_set():
                await self._read(self._follow)
            return await self._read(self._complete)
        finally:
            self._writer.close()

    async def _follow(self, reader: CrawlReader) -> None:
        """Hand over what is new, again and again if the reader shows it."""
        while not self._finishing.is_set():
            await self._writer.follow(reader)
            self._deadline.reset()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._finishing.wait(), FOLLOW_EVERY_S)
            if not self._is_lasting:
                return

    async def _complete(self, reader: CrawlReader) -> list[OutputReport]:
        await self._writer.follow(reader)
        return await self._writer.finish(reader)

    async def _read(self, work: Callable[[CrawlReader], Awaitable[T]]) -> T:
        """Do what needs a reader; a server that is away is waited for, and then opened again.

        It may have lost its last results: where the outputs stand is noted, so that it shows.
        """
        while True:
            try:
                async with self._open_reader() as reader:
                    return await work(reader)
            except StoreAwayError as error:
                self._deadline.check(error)
            self._writer.flush()
            await asyncio.sleep(FOLLOW_EVERY_S)


class OutputProcess:
    """The process, at its end of the channel."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._follower: OutputFollower | None = None
        self._kept = 0

    async def run(self, end: socket.socket) -> None:
        """Do what is asked for, until whoever started us is gone."""
        target = methods_of(OUTPUT_CONTROL, self)
        served = Served(contract=OUTPUT_CONTROL, target=target, at_once=None)
        self._channel = await Channel.open(end, OUTPUT_CONTRACTS, [served])
        await self._channel.closed  # a mistake of ours is raised here

    async def write(self, config: OutputConfig) -> list[OutputReport]:
        """Write outputs; return what they hold, when they were to be finished and are."""
        telling = None
        try:
            store = load({"store": config.store}, {}).options.store
            request = ReadRequest(address=store, name=config.name, directory=Path(config.directory))
            self._follower = OutputFollower(
                OutputWriter(config.wishes.specs(Path(config.folder)), config.rules),
                reopening(request),
                is_lasting=store.is_shared,
                say=lambda message: self._notify("waits", message),
            )
            telling = asyncio.create_task(self._tell_regularly())
            return await self._follower.run()
        except GossamerError:
            raise
        except Exception as error:  # a successor would not do any better
            message = f"the process that writes the outputs broke: {describe(error)}"
            raise CrawlError(message) from error
        finally:
            if telling is not None:
                telling.cancel()
            self._tell()

    async def finish(self) -> None:
        """Write what is left in the log, and complete the outputs."""
        if self._follower is not None:
            self._follower.finish()

    async def _tell_regularly(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_EVERY_S)
            self._tell()

    def _tell(self) -> None:
        if self._follower is not None and self._follower.number > self._kept:
            self._kept = self._follower.number
            self._notify("kept", self._kept)

    def _notify(self, method: str, argument: object) -> None:
        if self._channel is not None:
            self._channel.notify(OUTPUT_FEED.methods[method], argument)


def run_writer(end: socket.socket) -> None:
    """Be the process; Ctrl-C is for the coordinator."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    uvloop.run(OutputProcess().run(end))
