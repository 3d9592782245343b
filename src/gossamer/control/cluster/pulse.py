"""How often a process looks for something to do that nobody tells it of.

Processes of a shared crawl do not know each other: what one has found, another learns by asking the
store. Where something has just been there is likely to be more, and each moment of waiting is one in
which nobody may work; where nothing happens, asking costs the server and brings nothing.
"""

SHORTEST_S = 0.004
LONGEST_S = 0.05


class Pulse:
    """Short pauses after something was found, longer ones the longer nothing is."""

    def __init__(self, shortest_s: float = SHORTEST_S, longest_s: float = LONGEST_S) -> None:
        self._shortest_s = shortest_s
        self._longest_s = longest_s
        self._pause_s = longest_s

    def pause_s(self, *, found: bool) -> float:
        """Return how long to wait before the next look, after one that found something or not."""
        self._pause_s = self._shortest_s if found else min(2 * self._pause_s, self._longest_s)
        return self._pause_s
