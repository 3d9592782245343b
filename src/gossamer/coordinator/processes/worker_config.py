"""What a worker process is to do, and what it and whoever started it say to each other."""

import time
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from gossamer.channel import Contract
from gossamer.channel.channel import PROTOCOL
from gossamer.config import StoreAddress
from gossamer.coordinator.continuing import pack_options
from gossamer.coordinator.plan import Plan
from gossamer.frontier.contract import FRONTIER
from gossamer.model import Event, NameTable
from gossamer.modules.contract import Hooks, Module
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.remote import PAGE_MODULES
from gossamer.stores.reading import WorkerReport

if TYPE_CHECKING:
    from gossamer.channel.queues import QueueClient
    from gossamer.stores.redis.address import RedisAddress
    from gossamer.stores.redis.message_queues import JoinedQueues


class SteadyClock:
    """A clock of seconds since the epoch that never jumps.

    It is set once, so that moments outlast the process, and goes on steadily: when somebody sets
    the wall clock, no host is asked early and none is kept waiting.
    """

    def __init__(self, offset_s: float) -> None:
        """Set it by how far it is before the steady clock of this machine."""
        self._offset_s = offset_s

    def __call__(self) -> float:
        """Return the time."""
        return self._offset_s + time.monotonic()

    def set(self, offset_s: float) -> None:
        """Set it again, before anything has begun: the clock of a shared crawl is its server's."""
        self._offset_s = offset_s


def steady_clock() -> SteadyClock:
    """Return a clock that is set by the wall."""
    return SteadyClock(time.time() - time.monotonic())


MODULES_NOTE = "coordinator-hooks"
"""The note of which hooks the modules of the coordinator have, for workers elsewhere."""

OVER_NOTE = "over"
"""The note of what has ended a shared crawl; empty while it goes on."""

StreamName = Literal["stdout", "stderr"]
Level = Literal["info", "warning", "error"]


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process is to do."""

    number: int
    slots: int
    """How many requests it may have under way."""
    options: bytes
    """Those of the crawl, packed."""
    own_options: dict[str, str]
    """Where its store and its directory are: what is not stored with the crawl."""
    modules: tuple[str, ...]
    """The names of those that it loads."""
    coordinator_hooks: Hooks | None = None
    """Those of the modules in the process that started it; None: there are none."""
    wants_events: bool = False
    clock_offset_s: float
    lease_s: float
    has_joined: bool = False
    """Whether it reaches the frontier through queues, and not through who started it."""
    identity: str = ""
    """That of the crawl, by which modules know its results."""
    resumed_from: int = 0
    gaps: frozenset[int] = frozenset()
    dns: NameTable | None = None


class WorkerControl(Protocol):
    """What a worker can be told."""

    async def begin(self, config: WorkerConfig) -> None:
        """Begin to work."""

    async def set_slots(self, slots: int) -> None:
        """Have at most so many requests under way; done when there are no more."""

    async def stop(self) -> None:
        """Finish what is in progress, and end."""

    async def leave(self) -> None:
        """Give back what is in progress, and end; what the modules have seen is still settled."""


class WorkerFeed(Protocol):
    """What a worker tells; nothing of it is answered."""

    async def alive(self, report: WorkerReport, modules: list[ModuleReport]) -> None:
        """Say that it is alive, several times a second."""

    async def events(self, events: list[Event]) -> None:
        """Tell steps of the crawl."""

    async def say(self, level: Level, message: str, fields: dict[str, str]) -> None:
        """Pass on a message."""

    async def output(self, stream: StreamName, text: str) -> None:
        """Pass on what was printed."""

    async def failed(self, kind: str, message: str) -> None:
        """Tell why the crawl cannot go on; the worker ends."""


class Joining(Protocol):
    """What a process that has joined a crawl from elsewhere asks its frontier, beside the store."""

    async def new_worker(self) -> int:
        """Return the number of a worker that counts from now on."""

    async def say(self, level: Level, who: str, message: str) -> None:
        """Pass on a message of somebody."""


CONTROL: Contract[WorkerControl] = Contract(WorkerControl)
FEED: Contract[WorkerFeed] = Contract(WorkerFeed)
CONTRACTS: Sequence[Contract[Any]] = (CONTROL, FEED, FRONTIER, PAGE_MODULES)
"""Both ends of a worker's channel know these, in this order."""
JOINING: Contract[Joining] = Contract(Joining)
JOINED_CONTRACTS: Sequence[Contract[Any]] = (FRONTIER, JOINING, PAGE_MODULES)
"""Both ends of the queues of a process that has joined know these, in this order."""


def open_queues(
    address: "RedisAddress", crawl: str, worker: int | None, tell: Callable[[str], None]
) -> "tuple[QueueClient, JoinedQueues]":
    """Open the queues of a process that has joined to the frontier of a crawl."""
    # A worker of a crawl in a file does not load the client of a server.
    from gossamer.channel.queues import Hello, QueueClient  # noqa: PLC0415
    from gossamer.stores.redis.message_queues import JoinedQueues  # noqa: PLC0415
    from gossamer.stores.redis.row_keys import RowKeys  # noqa: PLC0415

    kind = "command" if worker is None else f"worker-{worker}"
    queues = JoinedQueues(address, RowKeys(crawl), f"{kind}-{token_hex(4)}", tell)
    return QueueClient(JOINED_CONTRACTS, queues, Hello(PROTOCOL, worker)), queues


def config_for(
    plan: Plan, modules: Sequence[Module], clock: Callable[[], float], *, store: StoreAddress
) -> WorkerConfig:
    """Return what all workers of a crawl are told; each gets its own number and slots.

    `modules` are those that run in the workers; `store` is where they find the store.
    """
    return WorkerConfig(
        number=0,
        slots=1,
        options=pack_options(plan.options),
        own_options={
            "store": store.url or str(store),
            "name": plan.name,
            "dir": str(plan.directory),
        },
        modules=tuple(module.name for module in modules),
        clock_offset_s=clock() - time.monotonic(),
        lease_s=plan.options.lease_s,
    )
