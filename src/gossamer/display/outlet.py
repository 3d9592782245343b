"""Safe text, streams that cannot stop a crawl, and the list of the last messages."""

import contextlib
import os
import select
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

import msgspec

from gossamer.model import Level

MAX_LENGTH = 500
MAX_REMEMBERED = 20

MessageFields = Mapping[str, str | int | float]


def printable(text: str, limit: int | None = MAX_LENGTH) -> str:
    r"""Return the text on one line, cut, with invisible characters as in `\x1b` and `\u202e`."""
    cut = text if limit is None or len(text) <= limit else f"{text[: limit - 1]}…"
    # Not printable are controls (C0, C1), format characters (bidi, zero width), surrogates, and
    # separators but the space: Unicode categories C* and Z*.
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)


def printable_json(document: bytes) -> bytes:
    r"""Return a JSON document of the same value on one line, invisible characters as `\u202e`."""
    text = document.decode()
    if text.isprintable():
        return document
    import json  # noqa: PLC0415 -- takes a while to load, and hardly any text needs it

    # JSON itself uses only printable characters, so these stand inside of strings.
    escaped = (char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
    return "".join(escaped).encode()


class Outlet:
    """A stream that is written to until its first failure, and then ignored.

    The reader of a pipe may go away (`| head`), a terminal may be closed, a disk may be full.
    It has the methods of a text file that `rich.console.Console` needs.
    """

    def __init__(self, stream: TextIO | None) -> None:
        # In a process that was started without standard error, sys.stderr is None.
        self._stream = stream
        self.failure: OSError | ValueError | None = None
        """The error after which nothing is written any more."""

    @property
    def encoding(self) -> str:
        """The character coding of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    def ready(self) -> bool:
        """Return whether a short text can be written at once.

        A terminal that was stopped (Ctrl-S) and a pipe that is not read are not ready; waiting for
        them would delay the crawl.
        """
        if self._stream is None or self.failure is not None:
            return False
        try:
            return bool(select.select([], [self._stream], [], 0)[1])
        except (OSError, ValueError):
            # Not a real file, or a closed one: writing to it does not block.
            return True

    def write(self, text: str) -> int:
        """Write the text, unless an earlier write has failed."""
        self._attempt(self._put, text)
        return len(text)

    def line(self, text: str) -> None:
        """Write a line and flush it."""
        self.write(f"{text}\n")
        self.flush()

    def flush(self) -> None:
        """Flush the stream, unless an earlier write has failed."""
        self._attempt(lambda stream: stream.flush())

    def _attempt(self, action: Callable[..., None], *arguments: str) -> None:
        if self._stream is not None and self.failure is None:
            try:
                action(self._stream, *arguments)
            except BlockingIOError:
                pass  # A non-blocking stream is full: this text is lost, not the next.
            except (OSError, ValueError) as error:
                self._fail(self._stream, error)

    @staticmethod
    def _put(stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            coding = stream.encoding
            stream.write(text.encode(coding, "replace").decode(coding))

    def _fail(self, stream: TextIO, error: OSError | ValueError) -> None:
        """Note the failure, and keep the interpreter from failing again at exit."""
        self.failure = error
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, stream.fileno())
            finally:
                os.close(nowhere)


class RateLimit:
    """A limit of `times` within any span of `within_s`; the caller gives the time."""

    def __init__(self, times: int, within_s: float) -> None:
        self._within_s = within_s
        self._last: deque[float] = deque(maxlen=times)

    def due(self, now_s: float) -> bool:
        """Return whether something may be shown now; if so, count it."""
        full = len(self._last) == self._last.maxlen
        # After the clock was set back, the next call is due.
        if full and 0 <= now_s - self._last[0] < self._within_s:
            return False
        self._last.append(now_s)
        return True


def sentence(message: str, fields: MessageFields) -> str:
    """Return `the message (host=a.test, tries=3)` on one line."""
    if fields:
        pairs = [
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in fields.items()
        ]
        message = f"{message} ({', '.join(pairs)})"
    return printable(message)


class Message(msgspec.Struct, frozen=True):
    """A message and how often it was repeated in a row."""

    level: Level
    text: str
    times: int = 1

    def __str__(self) -> str:
        repeated = f" ({self.times:,} times)" if self.times > 1 else ""
        label = "" if self.level == "info" else f"{self.level}: "
        return f"{label}{self.text}{repeated}"


class Messages:
    """The last messages, and the last serious ones; a repeated one is one entry."""

    def __init__(self) -> None:
        self._latest: deque[Message] = deque(maxlen=MAX_REMEMBERED)
        self._serious: deque[Message] = deque(maxlen=MAX_REMEMBERED)
        self._serious_ever = 0

    def add(self, level: Level, text: str) -> None:
        """Add a message; the oldest may be dropped."""
        serious = level != "info"
        times = 1
        if self._latest and (self._latest[-1].level, self._latest[-1].text) == (level, text):
            times += self._latest.pop().times
            if serious:
                self._serious.pop()
        elif serious:
            self._serious_ever += 1
        message = Message(level, text, times)
        self._latest.append(message)
        if serious:
            self._serious.append(message)

    def latest(self, number: int) -> list[Message]:
        """Return the last few, oldest first."""
        return list(self._latest)[-number:]

    def serious(self) -> Iterator[str]:
        """Yield the last warnings and errors, and before them how many are not shown."""
        forgotten = self._serious_ever - len(self._serious)
        if forgotten:
            yield f"earlier warnings not shown: {forgotten:,}"
        yield from map(str, self._serious)
