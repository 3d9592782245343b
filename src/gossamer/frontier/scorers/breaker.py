"""A circuit breaker: a service that keeps failing is left alone for a while. Time is an argument.

- closed: ask; some failures in a row open the breaker.
- open: do not ask until the pause is over; pauses double, up to a limit.
- half-open: one question may go; its answer closes the breaker or opens it again.
"""

from enum import StrEnum
from typing import Final

FAILURES_IN_A_ROW: Final = 4
FIRST_PAUSE_S: Final = 15.0
MAX_PAUSE_S: Final = 600.0
MAX_HOLD_S: Final = 3600.0
"""The longest pause that a server can talk us into."""


class BreakerState(StrEnum):
    """Whether the service may be asked."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """Decides whether to ask, from how the last questions ended."""

    def __init__(self) -> None:
        self._is_closed = True
        self._is_probing = False
        self._failures = 0
        self._pauses = 0
        self._ask_at = 0.0

    def state(self, now: float) -> BreakerState:
        """Return where it stands."""
        if self._is_closed:
            return BreakerState.CLOSED
        if self._is_probing or now >= self._ask_at:
            return BreakerState.HALF_OPEN
        return BreakerState.OPEN

    def may_ask(self, now: float) -> bool:
        """Tell whether a question may go now; who is told so asks, and reports how it ended.

        When a probe is never reported (its task was cancelled), the next one may go after
        another pause.
        """
        if self._is_closed:
            return True
        if now < self._ask_at:
            return False
        self._is_probing = True
        self._ask_at = now + self._pause_s()
        return True

    def succeeded(self) -> None:
        """Note a usable answer: all is well again."""
        self._is_closed = True
        self._is_probing = False
        self._failures = self._pauses = 0
        self._ask_at = 0.0

    def failed(self, now: float) -> None:
        """Note that a question had no usable answer."""
        self._failures += 1
        tripped = self._is_closed and self._failures >= FAILURES_IN_A_ROW
        # Whoever asked before it opened and fails afterwards does not make the pause longer.
        if tripped or self._is_probing:
            self._open_until(now + self._pause_s())
            self._pauses += 1

    def hold(self, now: float, pause_s: float) -> None:
        """Open at once, for as long as the server asks, within reason."""
        self._open_until(max(self._ask_at, now + min(pause_s, MAX_HOLD_S)))

    def _open_until(self, moment: float) -> None:
        self._is_closed = self._is_probing = False
        self._ask_at = moment

    def _pause_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** min(self._pauses, 16), MAX_PAUSE_S)
