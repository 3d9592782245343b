"""What a worker process prints and logs: it travels to whoever shows it, in whole lines."""

import asyncio
import io
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, TextIO, cast

from gossamer.channel import Channel
from gossamer.coordinator.processes.worker_config import FEED, StreamName
from gossamer.model import Event

MAX_LINE = 65_536
"""A line that is longer is sent in parts."""


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
        for one in streams:
            one.send_rest()
        sys.stdout, sys.stderr = before
