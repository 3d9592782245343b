"""The limit of requests under way to one address, whatever names it has.

A server with many names is still one server. The names of a host are known before a request, and
its address when the connection is opened: there the request is turned back if the address has
enough to do. It waits a moment, and is then left for later, so that others get its place.
"""

import asyncio
import errno
import fcntl
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from math import inf
from typing import Final

import xxhash

PUBLIC_CONNECTIONS: Final = 8
"""How many requests one public address gets at a time, unless the operator wants otherwise."""

WAIT_S: Final = 1.0
"""How long a request waits for its address before its URL is left for later."""

_CHECK_EVERY_S: Final = 0.1
"""How soon it is noticed that another process has freed a slot, which it does not tell."""

MAX_SLOTS: Final = 1024
_MAX_EXEMPT: Final = 10_000
_TAKEN: Final = {errno.EACCES, errno.EAGAIN}


class AddressBusyError(Exception):
    """An address has as many requests under way as it may have."""


class AddressSlots:
    """The requests that are under way, by address.

    With locks, those of all processes that have the same ones; without, those of this one.
    """

    def __init__(
        self, limit: int | None, least: int = 1, locks: "AddressLocks | None" = None
    ) -> None:
        """Allow so many to each address; None: the usual number to those that are public.

        `least` is how many there may be in any case.
        """
        self._locks = locks
        self._locked: dict[str, list[int]] = {}
        """Which slots of an address are locked for this process."""
        self._limit = max(PUBLIC_CONNECTIONS if limit is None else limit, least)
        self._has_exempt = limit is None
        self._exempt: set[str] = set()
        self._taken: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def exempt(self, ip: str) -> None:
        """Note that the operator has allowed an address: it has no limit unless he gave one."""
        if len(self._exempt) >= _MAX_EXEMPT:
            self._exempt.clear()
        self._exempt.add(ip)

    def take(self, ip: str) -> bool:
        """Take a slot of an address; False if it has none."""
        taken = self._taken.get(ip, 0)
        if not (self._has_exempt and ip in self._exempt) and not self._has_slot(ip, taken):
            return False
        self._taken[ip] = taken + 1
        return True

    def _has_slot(self, ip: str, taken: int) -> bool:
        """Return whether an address has one more slot for this process, which is locked then."""
        if taken >= self._limit or self._locks is None:
            return taken < self._limit
        held = self._locked.get(ip, [])
        slot = self._locks.take(ip, self._limit, held)
        if slot is not None:
            self._locked[ip] = [*held, slot]
        return slot is not None

    def release(self, ip: str) -> None:
        """Free a slot of an address; who has waited longest for one may try again."""
        if self._locks is not None and (held := self._locked.pop(ip, None)):
            self._locks.free(ip, held.pop())
            if held:
                self._locked[ip] = held
        taken = self._taken.pop(ip) - 1
        if taken:
            self._taken[ip] = taken
        self._wake_next(ip)

    def _wake_next(self, ip: str) -> None:
        """Let the request try again that has waited longest."""
        waiting = self._waiting.get(ip)
        while waiting:
            future = waiting.popleft()
            if not future.done():
                future.set_result(None)
                break

    async def wait(self, ip: str, until: float) -> None:
        """Wait until there may be a slot; an `AddressBusyError` if that takes too long."""
        loop = asyncio.get_running_loop()
        check_at = inf if self._locks is None else loop.time() + _CHECK_EVERY_S
        future = loop.create_future()
        waiting = self._waiting.setdefault(ip, deque())
        waiting.append(future)
        try:
            async with asyncio.timeout_at(min(until, check_at)):
                await future
        except TimeoutError as error:
            if loop.time() >= until:
                raise AddressBusyError from error
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # it was its turn: that of the next then
                self._wake_next(ip)
            raise
        finally:
            with suppress(ValueError):
                waiting.remove(future)
            if not waiting and self._waiting.get(ip) is waiting:
                del self._waiting[ip]


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
