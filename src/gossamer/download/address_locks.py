"""The slots of addresses, as locks that the workers of one command share.

Each slot of an address is a byte of one open file, which is empty: a process locks the byte. The
system tells processes apart, and frees the locks of one that ends, however it ends.
"""

import errno
import fcntl
from collections.abc import Collection
from typing import Final

import xxhash

MAX_SLOTS: Final = 1024
_TAKEN: Final = {errno.EACCES, errno.EAGAIN}


class AddressLocks:
    """The locks of all addresses, in a file that several processes have inherited."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def take(self, ip: str, limit: int, held: Collection[int]) -> int | None:
        """Return one of the first slots of an address that nobody has, and this process not yet."""
        for slot in range(min(limit, MAX_SLOTS)):
            if slot not in held and self._lock(_byte(ip, slot)):
                return slot
        return None

    def free(self, ip: str, slot: int) -> None:
        """Leave a slot to others."""
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _byte(ip, slot))

    def _lock(self, byte: int) -> bool:
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            # A system that has no more locks is no reason to stop.
            return error.errno not in _TAKEN
        return True


def _byte(ip: str, slot: int) -> int:
    """Return where a slot is; two addresses have the same once in 2**52."""
    return (xxhash.xxh3_64_intdigest(ip.encode()) >> 12) * MAX_SLOTS + slot
