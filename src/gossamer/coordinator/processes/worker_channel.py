"""What goes over the channel of a worker process: what it is told, and what it tells.

What a worker prints and logs travels too, in whole lines, to whoever shows it.
"""

import asyncio
import io
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, Protocol, TextIO, cast

import msgspec

from gossamer.channel import Channel, Contract
from gossamer.channel.channel import PROTOCOL
from gossamer.config import StoreAddress
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.resume import pack_options
from gossamer.frontier.contract import FRONTIER
from gossamer.model import Event, Level, NameTable
from gossamer.modules.contract import Hooks, Module
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.remote import PAGE_MODULES
from gossamer.stores.crawl_views import WorkerReport

if TYPE_CHECKING:
    from gossamer.channel.resending import QueueClient
    from gossamer.stores.redis.address import RedisAddress
    from gossamer.stores.redis.message_queues import JoinedQueues

StreamName = Literal["stdout", "stderr"]
MAX_LINE = 65_536
"""A line that is longer is sent in parts."""
MODULES_NOTE = "coordinator-hooks"
"""The note of which hooks the modules of the coordinator have, for workers elsewhere."""
OVER_NOTE = "over"
"""The note of what has ended a shared crawl; empty while it goes on."""


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


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process is to do."""

    number: int
    slots: int
    """How many requests it may have under way."""
    options: bytes
    """The packed options of the crawl."""
    local_options: dict[str, str]
    """Its store, name and directory, which are not stored with the crawl."""
    modules: tuple[str, ...]
    """The names of the modules that it loads."""
    coordinator_hooks: Hooks | None = None
    """The hooks of the modules in the process that started it; None: it has no modules."""
    wants_events: bool = False
    clock_offset_s: float
    lease_s: float
    has_joined: bool = False
    """Whether it reaches the frontier through queues, and not through who started it."""
    identity: str = ""
    """The identity of the crawl, by which modules know its results."""
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

    async def heartbeat(self, report: WorkerReport, modules: list[ModuleReport]) -> None:
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
    from gossamer.channel.resending import Hello, QueueClient  # noqa: PLC0415
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
        local_options={
            "store": store.url or str(store),
            "name": plan.name,
            "dir": str(plan.directory),
        },
        modules=tuple(module.name for module in modules),
        clock_offset_s=clock() - time.monotonic(),
        lease_s=plan.options.lease_s,
    )


# -- what a worker shows -------------------------------------------------------------------------


class ChannelStream(io.TextIOBase):
    """The replacement of a standard stream: sends what is printed, from any thread."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._begun: dict[int, str] = {}
        """The line that each thread has begun: `print` writes the end of a line by itself."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # here read only
        """Any character can be printed."""
        return "utf-8"

    @property
    def buffer(self) -> "BytesStream":
        """The stream for bytes; what is not UTF-8 is replaced."""
        return BytesStream(self)

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, text: str) -> int:
        """Send the lines that are complete."""
        thread = threading.get_ident()
        with self._lock:
            written = self._begun.pop(thread, "") + text
            cut = len(written) if len(written) >= MAX_LINE else written.rfind("\n") + 1
            if cut < len(written):
                self._begun[thread] = written[cut:]
        if cut:
            self._send(written[:cut])
        return len(text)

    def send_rest(self) -> None:
        """Send what has no end of line."""
        with self._lock:
            begun, self._begun = self._begun, {}
        for text in begun.values():
            self._send(text)


class BytesStream(io.RawIOBase):
    """The way to a stream for those who print bytes."""

    def __init__(self, stream: ChannelStream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401 -- whatever has bytes
        """Send the lines that are complete."""
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class EventFeed:
    """Sends the steps of the crawl, those of one turn of the event loop together."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Take one step."""
        if not self._events:
            asyncio.get_running_loop().call_soon(self._send)
        self._events.append(event)

    def _send(self) -> None:
        self._channel.notify(FEED.methods["events"], self._events)
        self._events = []


def print_here(stream: StreamName, text: str) -> None:
    """Print what a worker has printed; a stream that nobody reads must not stop the crawl."""
    out = sys.stdout if stream == "stdout" else sys.stderr
    if out is None:
        return
    try:
        out.write(text)
    except UnicodeEncodeError:
        out.write(text.encode(out.encoding, "replace").decode(out.encoding))
    except BlockingIOError:
        return  # a non-blocking stream is full: this text is lost, not the next
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # what follows goes nowhere, also at the exit
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, out.fileno())
            os.close(nowhere)


Say = Callable[..., None]
"""Takes a level, `warning` or `error`, a message, and named fields; from any thread."""


class MessageHandler(logging.Handler):
    """Passes every record of Python's logging, which modules and libraries use, on as a message."""

    def __init__(self, say: Say) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record, with its exception on one line."""
        fields = {} if record.name.startswith("gossamer.") else {"logger": record.name}
        level = "error" if record.levelno >= logging.ERROR else "warning"
        self._say(level, _text(record), **fields)


def _text(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except (KeyError, TypeError, ValueError):
        # The arguments do not fit the format: show both.
        text = f"{record.msg} {record.args}"
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return text
    # This works even for an exception whose __str__ raises.
    return f"{text}: {''.join(traceback.format_exception_only(error)).strip()}"


@contextmanager
def logging_to(say: Say) -> Iterator[None]:
    """Send warnings and errors of all loggers there only."""
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [MessageHandler(say)]
    try:
        yield
    finally:
        root.handlers[:] = before


@contextmanager
def printing_to(channel: Channel) -> Iterator[None]:
    """Send everything that is printed or logged to the other end."""
    loop = asyncio.get_running_loop()

    def send(method: str, *arguments: object) -> None:
        try:
            loop.call_soon_threadsafe(channel.notify, FEED.methods[method], *arguments)
        except RuntimeError:  # the loop is closed: a thread of a module is left over
            return

    def stream(name: StreamName) -> ChannelStream:
        return ChannelStream(lambda text: send("output", name, text))

    def say(level: Literal["warning", "error"], message: str, /, **fields: str) -> None:
        send("say", level, message, fields)

    before = sys.stdout, sys.stderr
    streams = stream("stdout"), stream("stderr")
    sys.stdout, sys.stderr = cast("tuple[TextIO, TextIO]", streams)
    try:
        with logging_to(say):
            yield
    finally:
        for replaced in streams:
            replaced.send_rest()
        sys.stdout, sys.stderr = before
