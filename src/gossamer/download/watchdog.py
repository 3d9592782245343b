"""One timer for all the transfers of a client, in place of one or two for each."""

import asyncio
import time

import pycurl

from gossamer.download.deadlines import overdue, tick_s
from gossamer.download.options import FetchOptions
from gossamer.download.transfer import Transfer


class Watchdog:
    """Cancels the transfers whose server keeps silent too long; sleeps while there are none."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._tick_s = tick_s(options)
        self._watched: dict[Transfer, asyncio.Future[pycurl.Curl]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, transfer: Transfer, future: asyncio.Future[pycurl.Curl]) -> None:
        """Begin to look after a transfer; its future is what libcurl will resolve."""
        self._watched[transfer] = future
        if self._timer is None:
            self._set_timer()

    def release(self, transfer: Transfer) -> None:
        """Leave a transfer alone."""
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
