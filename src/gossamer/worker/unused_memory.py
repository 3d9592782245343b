"""Memory that this process has freed and still holds.

The tree of a large page takes up to forty times its size. The C library keeps most of that for
later, between what lives longer, and after some such pages a worker would hold three times what it
uses.
"""

import ctypes
from contextlib import suppress


def give_back_memory() -> None:
    """Give the system back what is not in use; it takes some milliseconds, without the GIL."""
    with suppress(OSError, AttributeError):  # another C library, which has no such thing
        ctypes.CDLL(None).malloc_trim(0)
