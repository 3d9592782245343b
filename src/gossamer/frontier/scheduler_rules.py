"""The settings of the scheduler, and the limits of a host that follow from them."""

import msgspec

from gossamer.frontier.hosts import Host

MAX_ASSIGNED = 256


class SchedulerRules(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the scheduler of one crawl."""

    queues: int = 10
    """The number of priority queues."""
    strict: bool = False
    """Whether a URL with a better score always goes first."""
    delay_s: float = 1.0
    host_connections: int = 1
    worker_queue: int = 10_000
    """How many URLs may be assigned to one worker."""
    domain_ttl_s: float = 300.0
    """How long a worker keeps a domain without URLs."""
    lease_s: float = 120.0
    """How long a lease is valid without renewal, and a worker without a sign of life."""

    def slots(self, host: Host) -> int:
        """Return how many requests to the host may run at once: one, if it has a delay."""
        return 1 if host.delay_s > 0 else self.host_connections

    def is_shared(self, host: Host) -> bool:
        """Return whether several workers may serve the host at once."""
        return self.slots(host) > 1

    @property
    def can_share(self) -> bool:
        """Whether there may be shared hosts in this crawl."""
        return self.delay_s <= 0 and self.host_connections > 1

    def share(self, workers: int) -> int:
        """Return how many of the slots of a shared host one of so many workers may use.

        Without a limit the first worker would take each slot again when it has settled.
        """
        return -(-self.host_connections // workers)

    def ahead(self, host: Host) -> int:
        """Return how many URLs of the host may be assigned: a part of the worker's queue."""
        return 1 if host.delay_s > 0 else max(1, min(MAX_ASSIGNED, self.worker_queue // 4))

    def room(self, host: Host) -> int:
        """Return how many more URLs may be assigned now.

        A host with a delay gets its next URL when none is in progress: its pause is long enough
        for that, and meanwhile it takes up no room.
        """
        taken = len(host.assigned) + (host.in_progress if host.delay_s > 0 else 0)
        return self.ahead(host) - taken
