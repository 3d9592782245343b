"""The hosts and domains that a crawl has to do with at present."""

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count

from gossamer.frontier.hosts import Domain, Host
from gossamer.model import HostKey


class ActiveHosts:
    """Holds a host while something of it waits or is in progress, and a little longer.

    A host that has come to rest is forgotten when its next moment is past and its domain is free:
    then the table knows nothing of it that the store does not know as well.
    """

    def __init__(self, queues: int) -> None:
        self._queues = queues
        self._hosts: dict[HostKey, Host] = {}
        self._domains: dict[str, Domain] = {}
        self._idle: list[tuple[float, int, Host]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._hosts)

    def __repr__(self) -> str:
        return f"<ActiveHosts: {len(self._hosts)} hosts of {len(self._domains)} domains>"

    def find(self, key: HostKey) -> Host | None:
        """Return a host if it is here."""
        return self._hosts.get(key)

    def add(self, key: HostKey, domain: str, delay_s: float) -> Host:
        """Take a host in that is not here."""
        owner = self._domains.get(domain)
        if owner is None:
            owner = self._domains[domain] = Domain(domain)
        owner.hosts += 1
        host = self._hosts[key] = Host(key, owner, delay_s, [0] * self._queues)
        return host

    def all(self) -> Iterable[Host]:
        """Return every host that is here."""
        return self._hosts.values()

    def note_idle(self, host: Host) -> None:
        """Have the host forgotten in time, if it is idle."""
        if host.idle and not host.leaving:
            host.leaving = True
            due = max(host.next_start, host.domain.kept_until)
            heappush(self._idle, (due, next(self._order), host))

    def forget_idle(self, now: float) -> None:
        """Drop the hosts and domains of which nothing is known that matters any more."""
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
