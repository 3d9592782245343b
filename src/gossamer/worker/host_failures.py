"""Why hosts last failed, for the URLs that are given up with their host."""

from typing import NamedTuple

from gossamer.frontier.contract import Settlement
from gossamer.model import Cause, HostKey

MAX_HOSTS = 10_000
"""How many failing hosts a process remembers; why the others failed is not reported."""


class HostFailure(NamedTuple):
    """Why a host failed: the cause, and the HTTP status if it answered."""

    cause: Cause
    status: int | None


class HostFailures:
    """Remembers why each failing host last failed."""

    def __init__(self) -> None:
        self._last: dict[HostKey, HostFailure] = {}

    def note(self, settlement: Settlement) -> None:
        """Note how a request ended; one that did not fail clears what was remembered."""
        feedback, host = settlement.feedback, settlement.task.host
        if feedback is None:
            return
        self._last.pop(host, None)
        if not feedback.failed or settlement.cause is None:
            return
        if len(self._last) >= MAX_HOSTS:
            del self._last[next(iter(self._last))]  # it has not failed for longest
        self._last[host] = HostFailure(settlement.cause, settlement.status)

    def last(self, host: HostKey) -> HostFailure | None:
        """Return why a host last failed; None if that is not known here."""
        return self._last.get(host)
