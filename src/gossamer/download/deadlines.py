"""How long a server may keep silent. Time is an argument: nothing here looks at a clock.

libcurl itself watches over connecting and over the whole request, but not over these.
"""

import msgspec

from gossamer.download.options import FetchOptions
from gossamer.model import Cause

DRAIN_TIMEOUT_S = 1.0
"""How long we go on reading what is thrown away; a new connection would cost about as much."""


class TransferProgress(msgspec.Struct):
    """How far a request has come; moments are seconds of one clock, None is not yet."""

    connected: float | None = None
    """When the request went out, on a new connection or an old one."""
    last_byte: float | None = None
    """When the last piece of the answer came."""
    useless_since: float | None = None
    """When it became clear that the rest of the answer is of no use."""


def overdue(progress: TransferProgress, options: FetchOptions, now: float) -> Cause | None:
    """Return which deadline has passed, None while there is still time."""
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
    """Return how often to look, so that a deadline is at most an eighth late."""
    shortest = min(options.first_byte_timeout_s, options.silence_timeout_s, DRAIN_TIMEOUT_S)
    return shortest / 8
