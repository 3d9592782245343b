"""An output stream that never raises, so that its failure cannot stop the crawl; a rate limit."""

import contextlib
import os
import select
from collections import deque
from collections.abc import Callable
from typing import TextIO


class Outlet:
    """A stream that is written to until its first failure, and then ignored.

    The reader of a pipe may go away (`| head`), a terminal may be closed, a disk may be full.
    It has the methods of a text file that `rich.console.Console` needs.
    """

    def __init__(self, stream: TextIO | None) -> None:
        # In a process that was started without standard error, sys.stderr is None.
        self._stream = stream
        self.failure: OSError | ValueError | None = None
        """Why nothing is written any more."""

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
