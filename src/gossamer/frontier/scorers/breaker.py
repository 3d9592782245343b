"""A circuit breaker: a service that keeps failing is left alone for a while. Time is an argument.

- closed: requests may be sent; some failures in a row open the breaker.
- open: no requests until the pause is over; pauses double, up to a limit.
- half-open: one request may be sent; its result closes the breaker or opens it again.
"""

from enum import StrEnum
from typing import Final

FAILURES_IN_A_ROW: Final = 4
FIRST_PAUSE_S: Final = 15.0
MAX_PAUSE_S: Final = 600.0
MAX_HOLD_S: Final = 3600.0
"""The longest pause that a server can ask for."""


class BreakerState(StrEnum):
    """Whether requests may be sent."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """A circuit breaker: decides from the last results whether to send a request."""

    def __init__(self) -> None:
        self._failures = self._pauses = 0
        self._ask_at: float | None = None
        """When the next request may be sent; None: it is closed."""
        self._is_probing = False

    def state(self, now: float) -> BreakerState:
        """Return its state."""
        if self._ask_at is None:
            return BreakerState.CLOSED
        is_half_open = self._is_probing or now >= self._ask_at
        return BreakerState.HALF_OPEN if is_half_open else BreakerState.OPEN

    def may_ask(self, now: float) -> bool:
        """Return whether a request may be sent now; if so, the caller sends it and reports back.

        When the result of a probe is never reported (its task was cancelled), the next one may be
        sent after another pause.
        """
        if self._ask_at is None:
            return True
        if now < self._ask_at:
            return False
        self._is_probing = True
        self._ask_at = now + self._pause_s()
        return True

    def succeeded(self) -> None:
        """Note a usable answer."""
        self._failures = self._pauses = 0
        self._ask_at, self._is_probing = None, False

    def failed(self, now: float) -> None:
        """Note that a request had no usable answer."""
        self._failures += 1
        tripped = self._ask_at is None and self._failures >= FAILURES_IN_A_ROW
        # A request that was sent before it opened and fails afterwards does not extend the pause.
        if tripped or self._is_probing:
            self._ask_at, self._is_probing = now + self._pause_s(), False
            self._pauses += 1

    def hold(self, now: float, pause_s: float) -> None:
        """Open at once, for as long as the server asks, within reason."""
        self._ask_at = max(self._ask_at or 0.0, now + min(pause_s, MAX_HOLD_S))
        self._is_probing = False

    def _pause_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** min(self._pauses, 16), MAX_PAUSE_S)
