"""The clock of a crawl."""

import time


class SteadyClock:
    """A clock of seconds since the epoch that never jumps.

    It is set once, so that moments outlast the process, and goes on steadily: when somebody sets
    the wall clock, no host is asked early and none is kept waiting.
    """

    def __init__(self, offset_s: float) -> None:
        """Set it by how far it is before the steady clock of this machine."""
        self._offset_s = offset_s

    def __call__(self) -> float:
        """Return the time."""
        return self._offset_s + time.monotonic()

    def set(self, offset_s: float) -> None:
        """Set it again, before anything has begun: the clock of a shared crawl is its server's."""
        self._offset_s = offset_s


def steady_clock() -> SteadyClock:
    """Return a clock that is set by the wall."""
    return SteadyClock(time.time() - time.monotonic())


def clock_at(offset_s: float) -> SteadyClock:
    """Return the clock with that offset: the same in every process of this machine."""
    return SteadyClock(offset_s)
