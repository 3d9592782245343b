"""The deadlines of requests, and the timer that enforces them for a client.

libcurl itself enforces the timeout for connecting. It knows none for silence, and its timeout for
the whole request goes on while we let a server wait. With them it is checked how much has arrived,
so that an answer is limited and not only its body.
"""

import asyncio
import time
from math import inf
from typing import TYPE_CHECKING

import msgspec

from gossamer.download.options import FetchOptions
from gossamer.model import Cause

if TYPE_CHECKING:
    from gossamer.download.transfer import Transfer

DRAIN_TIMEOUT_S = 1.0
"""How long a useless body is read; a new connection would cost about as much."""

LEAST_RATE = 100.0
"""How many bytes a second an answer must have on average, from when two silences would be over."""


class TransferProgress(msgspec.Struct):
    """The progress of a request; times are seconds of one clock, None means not yet."""

    started: float = inf
    """When it began, with connecting."""
    connected: float | None = None
    """When the request was sent, on a new connection or a kept one."""
    first_byte: float | None = None
    """When the first line of the answer came."""
    last_byte: float | None = None
    """When the last piece of the answer came."""
    received: int = 0
    """The bytes of the answer so far, without its framing."""
    useless_since: float | None = None
    """When the rest of the answer was found to be useless."""
    paused_at: float | None = None
    """Since when we read no more: it is us whom the server waits for."""
    paused_s: float = 0.0
    """How long it was paused before, which is no time that the server took."""

    def go_on(self, now: float) -> None:
        """Note that a piece of the answer came; a pause is over then."""
        if self.paused_at is not None:
            self.paused_s += now - self.paused_at
            self.paused_at = None
        self.last_byte = now


class Watchdog:
    """A timer that cancels transfers whose server is silent too long, or sends too much.

    It is off while there are none.
    """

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._tick_s = tick_s(options)
        self._watched: dict[Transfer, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, transfer: "Transfer", future: asyncio.Future[None]) -> None:
        """Watch a transfer; libcurl resolves its future."""
        self._watched[transfer] = future
        transfer.progress.started = time.monotonic()
        if self._timer is None:
            self._set_timer()

    def release(self, transfer: "Transfer") -> None:
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
            elif transfer.is_over_wire() and future.cancel():
                transfer.stop(Cause.BODY_TOO_LARGE, "with its framing")
        self._timer = None
        if self._watched:
            self._set_timer()


def overdue(progress: TransferProgress, options: FetchOptions, now: float) -> Cause | None:
    """Return the deadline that has passed, None if none has."""
    if progress.connected is None or progress.paused_at is not None:
        return None
    if now - progress.started - progress.paused_s > options.total_timeout_s:
        return Cause.TOTAL_TIMEOUT
    if progress.last_byte is None:
        silent_s = now - progress.connected
        return Cause.FIRST_BYTE_TIMEOUT if silent_s > options.first_byte_timeout_s else None
    if now - progress.last_byte > options.silence_timeout_s:
        return Cause.SILENCE_TIMEOUT
    if progress.useless_since is not None and now - progress.useless_since > DRAIN_TIMEOUT_S:
        return Cause.TOTAL_TIMEOUT
    # So little has come that a silence would be as good.
    sending_s = 0.0 if progress.first_byte is None else now - progress.first_byte
    is_slow = progress.received < LEAST_RATE * sending_s
    return Cause.TOO_SLOW if is_slow and sending_s > 2 * options.silence_timeout_s else None


def tick_s(options: FetchOptions) -> float:
    """Return how often to check, so that a deadline is at most an eighth late."""
    timeouts = options.first_byte_timeout_s, options.silence_timeout_s, options.total_timeout_s
    return min(*timeouts, DRAIN_TIMEOUT_S) / 8
