"""The time of a crawl."""

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], float]:
    """Return a clock of seconds since the epoch that never jumps.

    It is read from the wall once, so that moments outlast the process, and goes on steadily: when
    somebody sets the wall clock, no host is asked early and none is kept waiting.
    """
    offset_s = time.time() - time.monotonic()
    return lambda: offset_s + time.monotonic()
