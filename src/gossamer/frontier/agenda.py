"""The agenda of one worker: which of its hosts is due, and when."""

from heapq import heappop, heappush
from itertools import count

from gossamer.frontier.hosts import Host, Item


class Agenda:
    """The hosts with URLs assigned to a worker, each with one entry: resting, or ready.

    Of the ready hosts the one that has waited longest comes first; in strict order the one with
    the best URL. An entry is valid while its ticket is the host's: resetting the ticket
    invalidates the entry, which is then skipped when its turn comes.
    """

    def __init__(self, tickets: "count[int]", now: float, *, strict: bool) -> None:
        self.load = 0
        """How many URLs are assigned to the worker."""
        self.seen_at = now
        """When the worker last gave a sign of life."""
        self._tickets = tickets
        self._strict = strict
        self._resting: list[tuple[float, int, Host]] = []
        self._ready: list[tuple[Item, int, Host]] = []

    def enter(self, host: Host) -> None:
        """Add an entry for the host, if it has none."""
        if not host.ticket:
            host.ticket = next(self._tickets)
            heappush(self._resting, (host.free_at, host.ticket, host))

    def first(self, now: float) -> Host | None:
        """Return the host to fetch from now, None if there is none; it keeps its entry."""
        resting, ready = self._resting, self._ready
        while resting and resting[0][0] <= now:
            since, ticket, host = heappop(resting)
            if ticket != host.ticket:
                continue
            if host.free_at > now:
                heappush(resting, (host.free_at, ticket, host))
            else:
                rank = host.assigned[0] if self._strict else (since, ticket)
                heappush(ready, (rank, ticket, host))
        while ready:
            _, ticket, host = ready[0]
            if ticket == host.ticket and host.free_at <= now:
                return host
            heappop(ready)
            if ticket == host.ticket:  # it had another request meanwhile
                heappush(resting, (host.free_at, ticket, host))
        return None

    def remove_first(self) -> None:
        """Remove the entry of the host that `first` returned."""
        heappop(self._ready)[2].ticket = 0

    def wake_at(self) -> float | None:
        """Return when the next host is due, None if there is none; to be called after `first`."""
        resting = self._resting
        while resting and resting[0][1] != resting[0][2].ticket:
            heappop(resting)
        return resting[0][0] if resting else None
