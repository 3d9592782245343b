"""The redirection of standard output and error while the live display is on the terminal.

A module may print a line for every page, which would get into the middle of the display; redrawing
the display for each line would cost more than the crawl. So what is printed is held back, and is
written above the display when that is drawn next.
"""

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO, cast

MAX_HELD = 65_536
"""From this many characters on, the text is written at once."""


class HeldOutput:
    """The buffer of text that is held back; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: list[str] = []
        self._length = 0

    def add(self, text: str) -> bool:
        """Add text; return whether it must be written at once."""
        with self._lock:
            self._text.append(text)
            self._length += len(text)
            return self._length >= MAX_HELD

    def take(self, *, everything: bool = False) -> str:
        """Return and remove the complete lines, or everything."""
        with self._lock:
            text = "".join(self._text)
            cut = len(text) if everything or len(text) >= MAX_HELD else text.rfind("\n") + 1
            self._text = [text[cut:]]
            self._length = len(text) - cut
            return text[:cut]


class HeldStream(io.TextIOBase):
    """The replacement of a standard stream that is a terminal."""

    def __init__(self, original: TextIO, held: HeldOutput, release: Callable[[], None]) -> None:
        self._original = original
        self._held = held
        self._release = release

    @property
    def encoding(self) -> str:  # type: ignore[override]  # here read only
        """The character coding of the terminal."""
        return self._original.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The stream for bytes, which are not held back."""
        return self._original.buffer

    def write(self, text: str) -> int:
        """Hold the text back."""
        if self._held.add(text):
            self._release()
        return len(text)

    def isatty(self) -> bool:
        """Return whether the original is a terminal."""
        return self._original.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the original."""
        return self._original.fileno()


@contextmanager
def hold_output(held: HeldOutput, release: Callable[[], None]) -> Iterator[None]:
    """Hold back what is printed to standard streams that are terminals."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast("TextIO", HeldStream(stream, held, release)) if stream and stream.isatty() else stream
        for stream in before
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
