"""How often something is shown."""

from collections import deque


class RateLimit:
    """Says yes at most so many times within any such span, by the clock of whoever asks."""

    def __init__(self, times: int, within_s: float) -> None:
        self._within_s = within_s
        self._last: deque[float] = deque(maxlen=times)

    def due(self, now_s: float) -> bool:
        """Return whether it may be shown now; if so, that counts."""
        full = len(self._last) == self._last.maxlen
        # A clock that was set back is no reason to fall silent.
        if full and 0 <= now_s - self._last[0] < self._within_s:
            return False
        self._last.append(now_s)
        return True
