"""The writer of outputs as a process beside the workers: it follows the log, and keeps nothing.

Kill it at any moment: another one goes on where the outputs were made durable last.
"""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, Protocol, Self, TypeVar

import msgspec
import uvloop

from gossamer.channel import Channel, Contract, Served
from gossamer.channel.channel import methods_of
from gossamer.config import StoreAddress, load
from gossamer.content.page_parser import AnalysisRules
from gossamer.coordinator.plan import Plan
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.modules.calls import describe
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.resumable import state_folder
from gossamer.outputs.targets import OutputWishes
from gossamer.outputs.writer import OutputWriter
from gossamer.stores.reader import CrawlReader
from gossamer.stores.reading import ReadRequest
from gossamer.stores.registry import reopening
from gossamer.stores.rows import ReconnectDeadline, StoreAwayError

T = TypeVar("T")

FOLLOW_EVERY_S: Final = 0.2


class OutputOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is to write, and from which crawl."""

    wishes: OutputWishes
    folder: str
    """Where the states of the outputs are."""
    store: str
    """The address of the store."""
    name: str | None
    directory: str
    rules: AnalysisRules
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
            rules=plan.analysis_rules(),
        )


class OutputControl(Protocol):
    """What the process can be told."""

    async def begin(self, order: OutputOrder) -> None:
        """Open the outputs, and follow the log."""

    async def finish(self) -> list[OutputReport]:
        """Write what is left in the log, and complete the outputs."""


class OutputFeed(Protocol):
    """What the process tells; nothing of it is answered."""

    async def kept(self, number: int) -> None:
        """Say up to which result all outputs are durable."""

    async def waits(self, words: str) -> None:
        """Tell that the store is waited for."""

    async def failed(self, kind: str, words: str) -> None:
        """Tell why the outputs cannot be written; the process ends."""


OUTPUT_CONTROL: Contract[OutputControl] = Contract(OutputControl)
OUTPUT_FEED: Contract[OutputFeed] = Contract(OutputFeed)
OUTPUT_CONTRACTS: Sequence[Contract[Any]] = (OUTPUT_CONTROL, OUTPUT_FEED)


class OutputProcess:
    """The process, at its end of the channel."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._writer: OutputWriter | None = None
        self._open: Callable[[], AbstractAsyncContextManager[CrawlReader]] | None = None
        self._is_lasting = False
        """Whether a reader sees what comes later: a server's does, a file's does not."""
        self._following: asyncio.Task[None] | None = None
        self._deadline = ReconnectDeadline(self._wait)
        self._kept = 0

    async def run(self, end: socket.socket) -> None:
        """Do what is asked for, until whoever started us is gone."""
        served = Served(contract=OUTPUT_CONTROL, target=methods_of(OUTPUT_CONTROL, self))
        self._channel = await Channel.open(end, OUTPUT_CONTRACTS, [served])
        await self._channel.closed  # a mistake of ours is raised here

    # -- what it is told -------------------------------------------------------------------------

    async def begin(self, order: OutputOrder) -> None:
        """Open the outputs, and follow the log."""
        store = load({"store": order.store}, {}).options.store
        request = ReadRequest(address=store, name=order.name, directory=Path(order.directory))
        self._open, self._is_lasting = reopening(request), store.is_shared
        self._writer = OutputWriter(order.wishes.specs(Path(order.folder)), order.rules)
        self._writer.lock()
        await self._read(self._writer.open)
        self._following = asyncio.create_task(self._follow())
        self._following.add_done_callback(self._fail)

    async def finish(self) -> list[OutputReport]:
        """Write what is left in the log, and complete the outputs."""
        assert self._following is not None
        self._following.cancel()
        await asyncio.wait([self._following])
        telling = asyncio.create_task(self._keep_telling())
        try:
            return await self._read(self._complete)
        except Exception as error:
            raise _told(error) from error
        finally:
            telling.cancel()
            self._tell()

    # -- what it does ----------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            await self._read(self._look)

    async def _look(self, reader: CrawlReader) -> None:
        """Hand over what is new, again and again if the reader shows it."""
        assert self._writer is not None
        while True:
            await self._writer.follow(reader)
            self._deadline.reset()
            self._tell()
            await asyncio.sleep(FOLLOW_EVERY_S)
            if not self._is_lasting:
                return

    async def _complete(self, reader: CrawlReader) -> list[OutputReport]:
        assert self._writer is not None
        await self._writer.follow(reader)
        return await self._writer.finish(reader)

    async def _read(self, work: Callable[[CrawlReader], Awaitable[T]]) -> T:
        """Do what needs a reader; a server that is away is waited for, and then opened again.

        It may have lost its last results: where the outputs stand is noted, so that it shows.
        """
        assert self._open is not None
        assert self._writer is not None
        while True:
            try:
                async with self._open() as reader:
                    return await work(reader)
            except StoreAwayError as error:
                self._deadline.check(error)
            self._writer.keep()
            await asyncio.sleep(FOLLOW_EVERY_S)

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_EVERY_S)
            self._tell()

    def _wait(self, words: str) -> None:
        if self._channel is not None:
            self._channel.notify(OUTPUT_FEED.methods["waits"], words)

    def _tell(self) -> None:
        assert self._writer is not None
        if self._channel is not None and self._writer.kept > self._kept:
            self._kept = self._writer.kept
            self._channel.notify(OUTPUT_FEED.methods["kept"], self._kept)

    def _fail(self, following: "asyncio.Task[None]") -> None:
        """Tell why the log is not followed any more, unless it is the end."""
        error = None if following.cancelled() else following.exception()
        if error is None or self._channel is None:
            return
        error = _told(error)
        self._channel.notify(OUTPUT_FEED.methods["failed"], type(error).__name__, str(error))


def _told(error: BaseException) -> GossamerError:
    """Return an error as the coordinator is told of it; a successor would not do any better."""
    if isinstance(error, GossamerError):
        return error
    return CrawlError(f"the process that writes the outputs broke: {describe(error)}")


def run_writer(end: socket.socket) -> None:
    """Be the process; Ctrl-C is for the coordinator."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    uvloop.run(OutputProcess().run(end))
