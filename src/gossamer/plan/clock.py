"""The clock of a crawl."""

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], float]:
    """Return a clock of seconds since the epoch that never jumps.

    It is read from the wall once, so that moments outlast the process, and goes on steadily: when
    somebody sets the wall clock, no host is asked early and none is kept waiting.
    """
    return clock_at(time.time() - time.monotonic())


def clock_at(offset_s: float) -> Callable[[], float]:
    """Return the steady clock with that offset: the same in every process of this machine."""
    return lambda: offset_s + time.monotonic()
