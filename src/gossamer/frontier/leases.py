"""The leases of a crawl: which worker works on which URL."""

import msgspec

from gossamer.frontier.hosts import ANYONE, Host


class Budget:
    """The budget of a crawl: a lease reserves the most it can use, settling returns the rest.

    Used plus reserved never exceeds the limits. So the last pages are fetched by fewer and fewer
    workers. When less is left than a task may need, one task at a time gets all of that, and the
    crawl ends when that is too little for it.
    """

    def __init__(self, max_pages: int, max_bytes: int, max_task_bytes: int) -> None:
        self.max_pages = max_pages
        self.max_bytes = max_bytes
        self.max_task_bytes = max_task_bytes
        self.pages = 0
        """Pages that were fetched and kept, each visit counted."""
        self.received = 0
        """Bytes of bodies that were received, whatever came of them."""
        self.short_at = 0
        """Under which limit of bytes the rest was too little for a task; 0: under none."""
        self.tasks = 0
        """How many leases hold a reservation."""
        self.reserved = 0
        """How many bytes they may still receive."""

    def __repr__(self) -> str:
        return (
            f"{self.pages} of {self.max_pages} pages, {self.received} of {self.max_bytes} bytes, "
            f"{self.tasks} tasks with {self.reserved} bytes"
        )

    def reserve(self) -> int:
        """Reserve a page, and bytes for a task; return how many, 0 if the budget has none now."""
        left = self.max_bytes - self.received - self.reserved
        is_enough = left >= self.max_task_bytes or not self.tasks
        if self.exhausted_by(self.tasks) is not None or not is_enough:
            return 0
        allowed = min(left, self.max_task_bytes)
        self.tasks += 1
        self.reserved += allowed
        return allowed

    def resume(self, allowed: int) -> None:
        """Go on with a reservation that was made before."""
        self.tasks += 1
        self.reserved += allowed

    def use(self, allowed: int, received: int, *, page: bool = False, short: bool = False) -> None:
        """Replace a reservation by what was used; `short`: the rest was too little for the task."""
        self.tasks -= 1
        self.reserved -= allowed
        self.pages += page
        self.received += min(received, allowed)
        if short:
            self.short_at = self.max_bytes

    def exhausted_by(self, reserved_pages: int = 0) -> str | None:
        """Return which limit leaves no room for another page; None when there is room."""
        if self.pages + reserved_pages >= self.max_pages:
            return "max-pages"
        return "max-bytes" if max(self.received, self.short_at) >= self.max_bytes else None


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
