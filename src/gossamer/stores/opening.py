"""Opening a crawl to work on it, whatever store keeps it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from gossamer.config import StoreAddress
from gossamer.stores.contract import Store
from gossamer.stores.process_message import ProcessMessage
from gossamer.stores.reading import CrawlReader
from gossamer.stores.results import ReplayedPage
from gossamer.stores.rules import StoreRules

OPTIONS_NOTE = "options"
"""The note that holds the options of a crawl; a crawl that has none has not begun."""

Say = Callable[[Literal["info", "warning"], str], None]


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which crawl to open, and how."""

    address: StoreAddress
    name: str
    """What the crawl is called in a shared store."""
    directory: Path | None
    """Where its state and results go; None: nothing is written to disk."""
    rules: StoreRules
    check: Callable[[bytes], None]
    """Is shown the options of a crawl that has begun, before anything is changed; may refuse."""
    clock: Callable[[], float]
    fresh: bool = False
    """Delete what an earlier crawl has left."""
    allow_insecure: bool = False
    """Accept a server elsewhere without password or TLS."""
    say: Say = lambda _level, _words: None


class Leadership(Protocol):
    """Who leads, of the processes that could: one at a time for each role."""

    async def lead(self, role: str, who: str, for_s: float) -> bool:
        """Take a role that nobody has, or keep it; False while somebody else has it."""

    async def resign(self, role: str, who: str) -> None:
        """Give up a role."""


class LocalStore(Store, Protocol):
    """A store inside this process, which other processes reach through it."""

    def wake_at(self, worker: int, now: float) -> float | None:
        """Return when a host is due of which the worker may lease a URL; None: unknown."""

    def when_durable(self, tell: Callable[[], None]) -> None:
        """Call something as soon as everything so far is durable."""

    async def commit_wanted(self) -> None:
        """Wait until somebody waits for a commit."""


class OpenedCrawl(Protocol):
    """A crawl that this process, and no other, coordinates."""

    @property
    def store(self) -> Store:
        """The store, until the crawl is closed."""

    @property
    def local_store(self) -> LocalStore | None:
        """The same, where workers reach it through this process; None: they do so themselves."""

    @property
    def address(self) -> StoreAddress:
        """Where workers find the store."""

    @property
    def where(self) -> str:
        """What people are told about where the crawl is."""

    @property
    def identity(self) -> str:
        """What tells the crawl from all others (`stores.ownership`)."""

    @property
    def leadership(self) -> Leadership | None:
        """Who leads its frontier; None: this process does, as no other can."""

    @property
    def worker_lock(self) -> int | None:
        """A descriptor that workers on this machine keep: while one has it, nobody else begins."""

    def reader(self) -> AbstractAsyncContextManager[CrawlReader]:
        """Open the crawl to read it, as it is now."""

    async def new_worker(self) -> int:
        """Return a number for a worker that no other has."""

    async def keep(self) -> None:
        """Stay the one that coordinates it; a CrawlError if another process has taken over."""

    async def messages(self) -> list[ProcessMessage]:
        """Return what processes that have joined it have reported since the last call."""


class IdleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which crawl to keep from being worked on."""

    address: StoreAddress
    name: str
    """What the crawl is called in a shared store."""
    directory: Path
    """Where its state, if it is on the local disk, and its results are."""
    say: Say = lambda _level, _words: None


class IdleCrawl(Protocol):
    """A crawl that nobody works on, nor can while it is open."""

    async def keep(self) -> None:
        """Stay the one that has it, to be called every second; a CrawlError if another has it."""

    async def add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        """Append records to the log of results, and store the note, in one atomic step.

        The result is one of the page's URL, without the page, which is not kept now.
        """
