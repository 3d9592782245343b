"""One worker process, as whoever started it sees it: its channel, its session, what it tells."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gossamer.channel import Channel, ChannelClosedError, Served
from gossamer.channel.channel import ERRORS, MAX_MESSAGE, methods_of
from gossamer.coordinator.processes.forward_stdio import print_here
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.worker_config import (
    CONTRACTS,
    CONTROL,
    FEED,
    Level,
    StreamName,
    WorkerConfig,
)
from gossamer.frontier.contract import FRONTIER
from gossamer.frontier.service import Frontier
from gossamer.frontier.session import WorkerSession
from gossamer.model import Event
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.remote import PAGE_MODULES, ServedModules
from gossamer.stores.reading import WorkerReport

CLOSES_WITHIN_S = 2.0
"""How long after the end of a process what it had sent may take to arrive."""


class Listener(Protocol):
    """Whoever shows what workers say."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Take a message."""


class WorkerServices(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process finds at this end of its channel."""

    listener: Listener
    clock: Callable[[], float]
    store: Frontier | None = None
    """The store, where workers reach it through this process only."""
    outlives: bool = False
    """Whether another process may take over that store while the workers live."""
    modules: ServedModules | None = None
    """The modules of this process, if it has any."""
    lock: int | None = None
    """The descriptor of a lock that a worker keeps until it ends."""
    max_body_bytes: int = 0
    """A page or a file travels compressed to the store, and as it is to the modules."""


class WorkerClient:
    """One worker process."""

    def __init__(self, number: int, services: WorkerServices) -> None:
        self.number = number
        self.pid = 0
        self.started = self.heard_at = services.clock()
        """When it was started, and when it was last heard of."""
        self.busy = 1.0
        """How busy it was lately (`WorkerReport`); until it tells, it has enough to do."""
        self.module_reports: Sequence[ModuleReport] = ()
        self.failure: GossamerError | None = None
        """Why it says that the crawl cannot go on."""
        self._services = services
        self._session = None
        if services.store is not None:
            self._session = WorkerSession(
                services.store,
                services.clock,
                outlives=services.outlives,
            )
        self._channel: Channel | None = None

    async def start(
        self, launcher: Launcher, config: WorkerConfig, on_batch: Callable[[], None]
    ) -> None:
        """Start the process, and tell it what to do."""
        self.pid, end = await launcher.start(self._services.lock)
        self.started = self.heard_at = self._services.clock()  # a launcher may have to load first
        self._channel = await Channel.open(
            end,
            CONTRACTS,
            self._served(),
            max_message=MAX_MESSAGE + 2 * self._services.max_body_bytes,
            on_batch=on_batch,
        )
        self._channel.notify(CONTROL.methods["begin"], config)

    def wake(self) -> None:
        """Let it have what there may be for it now."""
        if self._session is not None:
            self._session.wake()

    def stop(self) -> None:
        """Have it finish what is in progress, and end."""
        if self._session is not None:
            self._session.stop()
        if self._channel is not None:
            self._channel.notify(CONTROL.methods["stop"])

    async def set_slots(self, slots: int) -> None:
        """Have it use at most so many slots; return when it does, or is gone."""
        if self._channel is not None:
            try:
                await CONTROL.proxy(self._channel).set_slots(slots)
            except ChannelClosedError:
                return

    def leave(self) -> None:
        """Have it give back what is in progress, and end."""
        if self._session is not None:
            self._session.stop()
        if self._channel is not None:
            self._channel.notify(CONTROL.methods["leave"])

    async def see_off(self) -> None:
        """Take in what a process that has ended had sent; raise what went wrong at this end."""
        if self._channel is not None:
            await asyncio.wait([self._channel.closed], timeout=CLOSES_WITHIN_S)
            self._channel.abort()  # a process that a module has forked may keep it open
            await asyncio.wait([self._channel.closed])
            self._channel.closed.result()
        if self._session is not None:
            await self._session.take_back()

    def _served(self) -> list[Served]:
        served = [Served(contract=FEED, target=methods_of(FEED, self))]
        if self._session is not None:
            served.append(self._session.serve(FRONTIER))
        if self._services.modules is not None:
            target = methods_of(PAGE_MODULES, self._services.modules)
            served.append(Served(contract=PAGE_MODULES, target=target, at_once=None))
        return served

    # -- what it tells ---------------------------------------------------------------------------

    async def alive(self, report: WorkerReport, modules: list[ModuleReport]) -> None:
        """Note that it is alive, and how it is."""
        self.heard_at = self._services.clock()
        self.busy = report.busy
        self.module_reports = modules

    async def events(self, events: list[Event]) -> None:
        """Show steps of the crawl."""
        for event in events:
            self._services.listener.event(event)

    async def say(self, level: Level, words: str, fields: dict[str, str]) -> None:
        """Show a message."""
        self._services.listener.say(level, words, **fields)

    async def output(self, stream: StreamName, text: str) -> None:
        """Print what it printed."""
        print_here(stream, text)

    async def failed(self, kind: str, words: str) -> None:
        """Note why the crawl cannot go on."""
        self.failure = ERRORS.get(kind, CrawlError)(words)
