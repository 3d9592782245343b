"""Opening a crawl to work on it, whatever store keeps it."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError
from gossamer.stores.contract import Store
from gossamer.stores.reading import CrawlReader
from gossamer.stores.results import ReplayedPage
from gossamer.stores.rules import StoreRules

if TYPE_CHECKING:
    from gossamer.stores.redis.message_queues import FrontierQueues

OPTIONS_NOTE = "options"
"""The note that holds the options of a crawl; a crawl that has none has not begun."""

RESTS_NOTE = "rests_until"
"""The note of until when no host is asked, because a server may have forgotten who asks them."""

Say = Callable[[Literal["info", "warning"], str], None]


class StoreChangedError(CrawlError):
    """The store is not as this process left it: another one leads, or the server has forgotten.

    Nothing is written any more; who opens the crawl again goes on with what is stored.
    """


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
    set_clock: Callable[[float], None] = lambda _: None
    """Is told how far the clock of the crawl is before `time.monotonic`, where a server says so."""
    fresh: bool = False
    """Delete what an earlier crawl has left."""
    must_exist: bool = False
    """Refuse to begin a new one: it was there a moment ago."""
    allow_insecure: bool = False
    """Accept a server elsewhere without password or TLS."""
    say: Say = lambda _level, _words: None


class LocalStore(Store, Protocol):
    """A store inside this process, which other processes reach through it."""

    def wake_at(self, worker: int, now: float) -> float | None:
        """Return when a host is due of which the worker may lease a URL; None: unknown."""

    def when_durable(self, tell: Callable[[], None]) -> None:
        """Call something as soon as everything so far is durable."""

    async def note_workers(self, now: float) -> None:
        """Let other processes know of the workers: to be called every second."""

    async def commit_wanted(self) -> None:
        """Wait until somebody waits for a commit."""

    def give_up(self) -> None:
        """Wait no more for a server that is away: whoever works with it quits."""

    # -- for processes that have joined ----------------------------------------------------------

    @property
    def rules(self) -> StoreRules:
        """The rules of the crawl."""

    async def new_worker(self, now: float) -> int:
        """Register a worker under the smallest number that no other has; return the number."""

    def has_worker(self, number: int) -> bool:
        """Tell whether a worker takes part."""

    def put_metadata(self, name: str, value: bytes) -> None:
        """Store something with the crawl in the next commit."""

    def post(self, queue: str, message: bytes) -> None:
        """Append a message to a queue in the next commit, which is wanted soon."""

    def take_message(self, queue: str) -> None:
        """Take the first message of a queue away in the next commit: it has its effects."""

    def end_queues(self, queues: Iterable[str]) -> None:
        """Remove queues in the next commit."""


class OpenedCrawl(Protocol):
    """A crawl that this process, and no other, coordinates."""

    @property
    def store(self) -> LocalStore:
        """The store, until the crawl is closed; workers reach it through this process."""

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
    def queues(self) -> "FrontierQueues | None":
        """The queues of processes that have joined it; None: none can."""

    @property
    def worker_lock(self) -> int | None:
        """A descriptor that workers on this machine keep: while one has it, nobody else begins."""

    def reader(self) -> AbstractAsyncContextManager[CrawlReader]:
        """Open the crawl to read it, as it is now."""

    async def new_worker(self) -> int:
        """Return a number for a worker that no other has."""

    async def keep(self) -> None:
        """Stay the one that coordinates it; a CrawlError if another process has taken over."""


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
