"""The leases of a crawl: which worker works on which URL."""

import msgspec

from gossamer.frontier.hosts import ANYONE, Host


class Lease(msgspec.Struct):
    """The exclusive right of one worker to work on one URL."""

    url_id: int
    number: int
    """Grows with every lease of a crawl; only the newest lease of a URL is valid."""
    worker: int
    host: Host
    deadline: float
    """When it expires, unless it is renewed."""
    shared: bool
    """Whether the host was shared when it was granted."""
    allowed: int
    """How many bytes are reserved for it."""
    unproven: bool
    """Whether the host had not answered its last request when it was granted, or had none; never
    for a shared one, which may have any slot."""


class Leases:
    """The table of leases, at most one for each URL."""

    def __init__(self, first_number: int, lease_s: float) -> None:
        self._next_number = first_number
        self._lease_s = lease_s
        self._leases: dict[int, Lease] = {}

    def __len__(self) -> int:
        return len(self._leases)

    def grant(self, url_id: int, worker: int, host: Host, allowed: int, now: float) -> Lease:
        """Grant a worker the lease of a URL that nobody has."""
        lease = Lease(
            url_id,
            self._next_number,
            worker,
            host,
            deadline=now + self._lease_s,
            shared=host.worker == ANYONE,
            allowed=allowed,
            unproven=host.worker != ANYONE and not host.is_proven,
        )
        self._next_number += 1
        self._leases[url_id] = lease
        return lease

    def find(self, url_id: int, number: int) -> Lease | None:
        """Return the lease if it is still valid."""
        found = self._leases.get(url_id)
        return found if found is not None and found.number == number else None

    def of_url(self, url_id: int) -> Lease | None:
        """Return the lease of a URL."""
        return self._leases.get(url_id)

    def resume(self, lease: Lease) -> None:
        """Go on with a lease that was granted before."""
        self._leases[lease.url_id] = lease

    def renew(self, url_id: int, number: int, now: float) -> Lease | None:
        """Extend a lease and return it; None if it was lost."""
        lease = self.find(url_id, number)
        if lease is not None:
            lease.deadline = max(lease.deadline, now + self._lease_s)
        return lease

    def end(self, lease: Lease) -> None:
        """End a lease."""
        del self._leases[lease.url_id]

    def all(self) -> list[Lease]:
        """Return every lease."""
        return list(self._leases.values())

    def of(self, worker: int) -> list[Lease]:
        """Return the leases of a worker."""
        return [lease for lease in self._leases.values() if lease.worker == worker]

    def overdue(self, now: float) -> list[Lease]:
        """Return the leases that were not renewed in time."""
        return [lease for lease in self._leases.values() if lease.deadline <= now]
