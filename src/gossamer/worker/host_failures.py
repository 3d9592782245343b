"""What hosts failed of last, for the pages that are given up with their host."""

from typing import NamedTuple

from gossamer.model import Cause, HostKey
from gossamer.stores.contract import Settlement

MAX_HOSTS = 10_000
"""How many failing hosts a process remembers; of the others nobody hears why they failed."""


class HostFailure(NamedTuple):
    """Why a host failed: the cause, and the HTTP status if it answered."""

    cause: Cause
    status: int | None


class HostFailures:
    """Remembers of each host that fails what it failed of last."""

    def __init__(self) -> None:
        self._last: dict[HostKey, HostFailure] = {}

    def note(self, settlement: Settlement) -> None:
        """Take what came of a request; one that did not fail ends what was remembered."""
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
        """Return what a host failed of last; None if that is not known here."""
        return self._last.get(host)
