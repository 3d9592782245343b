"""The deadlines for a silent server. Time is an argument.

libcurl itself enforces the timeouts for connecting and for the whole request, but not these.
"""

import msgspec

from gossamer.download.options import FetchOptions
from gossamer.model import Cause

DRAIN_TIMEOUT_S = 1.0
"""How long a useless body is read; a new connection would cost about as much."""


class TransferProgress(msgspec.Struct):
    """The progress of a request; times are seconds of one clock, None means not yet."""

    connected: float | None = None
    """When the request was sent, on a new connection or a kept one."""
    last_byte: float | None = None
    """When the last piece of the answer came."""
    useless_since: float | None = None
    """When the rest of the answer was found to be useless."""


def overdue(progress: TransferProgress, options: FetchOptions, now: float) -> Cause | None:
    """Return the deadline that has passed, None if none has."""
    if progress.connected is None:
        return None
    if progress.last_byte is None:
        silent_s = now - progress.connected
        return Cause.FIRST_BYTE_TIMEOUT if silent_s > options.first_byte_timeout_s else None
    if now - progress.last_byte > options.silence_timeout_s:
        return Cause.SILENCE_TIMEOUT
    if progress.useless_since is not None and now - progress.useless_since > DRAIN_TIMEOUT_S:
        return Cause.TOTAL_TIMEOUT
    return None


def tick_s(options: FetchOptions) -> float:
    """Return how often to check, so that a deadline is at most an eighth late."""
    shortest = min(options.first_byte_timeout_s, options.silence_timeout_s, DRAIN_TIMEOUT_S)
    return shortest / 8
