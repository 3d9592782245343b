"""How often a process looks whether others have left something for it to do.

Nobody is told when there is something new in a shared store. Where something was found there is
often more in a moment; where nothing was, to look all the time would keep the store busy.
"""

FIRST_S, LONGEST_S = 0.01, 0.05
GROWTH = 1.5


class PollInterval:
    """Says how long to wait before the next look."""

    def __init__(self) -> None:
        self._pause_s = FIRST_S

    def pause_s(self, *, found: bool) -> float:
        """Return how long to wait after a look at which something was found, or nothing."""
        self._pause_s = FIRST_S if found else min(self._pause_s * GROWTH, LONGEST_S)
        return self._pause_s
