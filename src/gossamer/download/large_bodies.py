"""The bound on the bytes of bodies that a client holds at once, over all of its connections.

Each body has its limit, but a hundred of them at a time could be a hundred times as large. So only
as many bodies may be large as fit into the budget at their largest. Another that becomes large
waits until one of them is complete: it is not read meanwhile, and the server feels that as a slow
reader. Whoever may go on never waits for anybody, so there is always progress; and the time that a
body waits does not count for its timeouts.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import pycurl

LARGE_BYTES: Final = 1_000_000
"""A body up to this size never waits."""


class LargeBodies:
    """The bodies of a client that are large, and those that wait to become large."""

    def __init__(self, largest: int, max_held: int) -> None:
        self._free = max(1, max_held // max(largest, 1))
        self._waiting: OrderedDict[BodyRoom, None] = OrderedDict()

    def take(self, room: "BodyRoom") -> bool:
        """Let a body be large; if there are too many already, it is the last in the line."""
        if self._free:
            self._free -= 1
            return True
        self._waiting[room] = None
        return False

    def leave(self, room: "BodyRoom") -> None:
        """Forget a body; the next may be large in its place."""
        if self._waiting.pop(room, room) is None:
            return
        if room.is_large:
            if self._waiting:
                self._waiting.popitem(last=False)[0].go_on()
            else:
                self._free += 1


class BodyRoom:
    """What one body may take, which a handle receives; it is to be left at its end.

    `on_broken` is called if the handle cannot go on after it had to wait.
    """

    def __init__(
        self, bodies: LargeBodies, curl: pycurl.Curl, on_broken: Callable[[pycurl.error], object]
    ) -> None:
        self.is_large = False
        self._bodies = bodies
        self._curl = curl
        self._on_broken = on_broken
        self._resuming: asyncio.Handle | None = None

    def admits(self, size: int) -> bool:
        """Return whether the body may be of this size now; if not, its handle is to be paused."""
        if size <= LARGE_BYTES or self.is_large:
            return True
        self.is_large = self._bodies.take(self)
        return self.is_large

    def go_on(self) -> None:
        """Let the body be large, and its handle go on."""
        self.is_large = True
        # Not from within a callback of libcurl.
        self._resuming = asyncio.get_running_loop().call_soon(self._resume)

    def leave(self) -> None:
        """Make room for the next."""
        if self._resuming is not None:
            self._resuming.cancel()
        self._bodies.leave(self)
        self.is_large = False

    def _resume(self) -> None:
        try:
            self._curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:  # what came next ended it
            self._on_broken(error)
