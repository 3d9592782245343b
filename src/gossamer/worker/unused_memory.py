"""Memory that this process has freed and still holds.

The tree of a large page takes up to forty times its size, and its body is there several times
while it is received, packed and sent to the store. The C library keeps most of that for later,
between what lives longer, and after some such pages a worker would hold three times what it uses.
"""

import ctypes
from contextlib import suppress
from typing import Final

UNUSED_BYTES: Final = 8_000_000
"""By how much a process may grow before it looks whether it needs all of that."""


def give_back_memory() -> None:
    """Give the system back what is not in use; it takes some milliseconds, without the GIL."""
    with suppress(OSError, AttributeError):  # another C library, which has no such thing
        ctypes.CDLL(None).malloc_trim(0)


class UnusedMemory:
    """Says when memory is to be given back: when the process has grown since the last time.

    What it grew by may be in use; then it has to grow as much again before the next time.
    """

    def __init__(self) -> None:
        self._least: int | None = None
        """What the process held after the last time, or less."""

    def is_due(self, resident: int) -> bool:
        """Tell whether a process that holds this many bytes is to give back what it can."""
        if self._least is None or resident < self._least:
            self._least = resident
        return resident - self._least > UNUSED_BYTES

    def given_back(self, resident: int) -> None:
        """Note what the process holds after it gave back what it could."""
        self._least = resident
