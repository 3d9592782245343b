"""The hosts and domains in use: those with URLs that wait or are in progress."""

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count

from gossamer.frontier.host_limits import HostLimits
from gossamer.frontier.hosts import Domain, Host
from gossamer.model import HostKey


class ActiveHosts:
    """The table of hosts with URLs that wait or are in progress, and of those recently idle.

    An idle host is forgotten once its next request is due and no worker keeps its domain: then the
    table knows nothing about it that the store does not.
    """

    def __init__(self, queues: int) -> None:
        self._queues = queues
        self._hosts: dict[HostKey, Host] = {}
        self._domains: dict[str, Domain] = {}
        self._idle: list[tuple[float, int, Host]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._hosts)

    def find(self, key: HostKey) -> Host | None:
        """Return a host if it is in the table."""
        return self._hosts.get(key)

    def add(self, key: HostKey, domain: str, limits: HostLimits) -> Host:
        """Add a host that is not in the table."""
        owner = self._domains.setdefault(domain, Domain(domain))
        owner.hosts += 1
        host = self._hosts[key] = Host(key, owner, limits, limits.delay_s, [0] * self._queues)
        return host

    def all(self) -> Iterable[Host]:
        """Return every host in the table."""
        return self._hosts.values()

    def note_idle(self, host: Host) -> None:
        """Schedule the host to be forgotten, if it is idle."""
        if host.idle and not host.leaving:
            host.leaving = True
            due = max(host.next_start, host.domain.kept_until)
            heappush(self._idle, (due, next(self._order), host))

    def forget_idle(self, now: float) -> None:
        """Drop the idle hosts whose state does not matter any more, and their domains."""
        while self._idle and self._idle[0][0] <= now:
            host = heappop(self._idle)[2]
            host.leaving = False
            if host.idle and max(host.next_start, host.domain.kept_until) <= now:
                self._drop(host)
            else:
                self.note_idle(host)

    def _drop(self, host: Host) -> None:
        del self._hosts[host.key]
        host.domain.hosts -= 1
        if not host.domain.hosts:
            del self._domains[host.domain.name]
