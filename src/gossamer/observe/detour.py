"""What others print while the live display stands at the bottom of the terminal.

A module may print a line for every page. Left alone, it would write into the middle of the
display; drawing the display anew for each line would cost more than the crawl. So what is printed
is held back, and goes out above the display when that is drawn next.
"""

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO, cast

MAX_HELD = 65_536
"""So many characters are not held back any longer."""


class Held:
    """Text that waits to be shown; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: list[str] = []
        self._length = 0

    def add(self, text: str) -> bool:
        """Keep the text; return whether it has become too much to wait."""
        with self._lock:
            self._text.append(text)
            self._length += len(text)
            return self._length >= MAX_HELD

    def take(self, *, everything: bool = False) -> str:
        """Hand over the lines that are complete, and at the end the rest as well."""
        with self._lock:
            text = "".join(self._text)
            cut = len(text) if everything or len(text) >= MAX_HELD else text.rfind("\n") + 1
            self._text = [text[cut:]]
            self._length = len(text) - cut
            return text[:cut]


class HeldStream(io.TextIOBase):
    """Stands in for a standard stream that is a terminal."""

    def __init__(self, original: TextIO, held: Held, release: Callable[[], None]) -> None:
        self._original = original
        self._held = held
        self._release = release

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read only is all that is needed
        """The character coding of the terminal."""
        return self._original.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The way for bytes, which goes past this."""
        return self._original.buffer

    def write(self, text: str) -> int:
        """LeaseGuard the text back."""
        if self._held.add(text):
            self._release()
        return len(text)

    def isatty(self) -> bool:
        """Return what the original says."""
        return self._original.isatty()

    def fileno(self) -> int:
        """Return the terminal's number."""
        return self._original.fileno()


@contextmanager
def detour(held: Held, release: Callable[[], None]) -> Iterator[None]:
    """LeaseGuard back what is printed to standard streams that are terminals."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_stand_in(stream, held, release) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _stand_in(stream: TextIO | None, held: Held, release: Callable[[], None]) -> TextIO:
    if stream is None or not stream.isatty():
        return cast("TextIO", stream)
    return cast("TextIO", HeldStream(stream, held, release))
