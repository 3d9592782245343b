"""The limit of requests under way to one address, whatever names it has.

A server with many names is still one server. The names of a host are known before a request, and
its address when the connection is opened: there the request is turned back if the address has
enough to do. It waits a moment, and is then left for later, so that others get its place.
"""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final

PUBLIC_CONNECTIONS: Final = 8
"""How many requests one public address gets at a time, unless the operator wants otherwise."""

WAIT_S: Final = 1.0
"""How long a request waits for its address before its URL is left for later."""

_MAX_OWN: Final = 10_000


class AddressBusyError(Exception):
    """An address has as many requests under way as it may have."""


class AddressSlots:
    """The requests that are under way from this process, by address."""

    def __init__(self, limit: int | None, least: int = 1) -> None:
        """Allow so many to each address; None: the usual number to those that are public.

        `least` is how many there may be in any case.
        """
        self._limit = max(PUBLIC_CONNECTIONS if limit is None else limit, least)
        self._spares_own = limit is None
        self._own: set[str] = set()
        """Addresses that the operator has allowed, which have no limit unless he gave one."""
        self._taken: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def note_own(self, ip: str) -> None:
        """Note that the operator has allowed an address."""
        if len(self._own) >= _MAX_OWN:
            self._own.clear()
        self._own.add(ip)

    def take(self, ip: str) -> bool:
        """Take a slot of an address; False if it has none."""
        taken = self._taken.get(ip, 0)
        if taken >= self._limit and not (self._spares_own and ip in self._own):
            return False
        self._taken[ip] = taken + 1
        return True

    def release(self, ip: str) -> None:
        """Free a slot of an address; who has waited longest for one may try again."""
        left = self._taken.pop(ip) - 1
        if left:
            self._taken[ip] = left
        waiting = self._waiting.get(ip)
        while waiting:
            first = waiting.popleft()
            if not first.done():
                first.set_result(None)
                break

    async def wait(self, ip: str, until: float) -> None:
        """Wait for a slot that is freed; an `AddressBusyError` if there is none until then."""
        future = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(ip, deque())
        waiting.append(future)
        try:
            async with asyncio.timeout_at(until):
                await future
        except TimeoutError as error:
            raise AddressBusyError from error
        finally:
            with suppress(ValueError):
                waiting.remove(future)
            if not waiting and self._waiting.get(ip) is waiting:
                del self._waiting[ip]
