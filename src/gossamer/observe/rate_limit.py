"""A rate limit for output."""

from collections import deque


class RateLimit:
    """A limit of `times` within any span of `within_s`; the caller gives the time."""

    def __init__(self, times: int, within_s: float) -> None:
        self._within_s = within_s
        self._last: deque[float] = deque(maxlen=times)

    def due(self, now_s: float) -> bool:
        """Return whether something may be shown now; if so, count it."""
        full = len(self._last) == self._last.maxlen
        # After the clock was set back, the next call is due.
        if full and 0 <= now_s - self._last[0] < self._within_s:
            return False
        self._last.append(now_s)
        return True
