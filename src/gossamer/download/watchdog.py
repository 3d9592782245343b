"""The timer for the deadlines of all transfers of a client."""

import asyncio
import time

import pycurl

from gossamer.download.deadlines import overdue, tick_s
from gossamer.download.options import FetchOptions
from gossamer.download.transfer import Transfer


class Watchdog:
    """A timer that cancels transfers whose server is silent too long; off while there are none."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._tick_s = tick_s(options)
        self._watched: dict[Transfer, asyncio.Future[pycurl.Curl]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, transfer: Transfer, future: asyncio.Future[pycurl.Curl]) -> None:
        """Watch a transfer; libcurl resolves its future."""
        self._watched[transfer] = future
        if self._timer is None:
            self._set_timer()

    def release(self, transfer: Transfer) -> None:
        """Stop watching a transfer."""
        del self._watched[transfer]

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick_s, self._tick)

    def _tick(self) -> None:
        now = time.monotonic()
        for transfer, future in self._watched.items():
            cause = overdue(transfer.progress, self._options, now)
            if cause is not None and future.cancel():
                transfer.stop(cause)
        self._timer = None
        if self._watched:
            self._set_timer()
