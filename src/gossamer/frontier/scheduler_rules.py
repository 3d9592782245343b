"""What the scheduler goes by, and what that means for a host."""

import msgspec

from gossamer.frontier.hosts import Host

MAX_ASSIGNED = 256


class SchedulerRules(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests, of which host, in which order."""

    queues: int = 10
    """The number of priority queues."""
    strict: bool = False
    """Whether a URL with a better score always goes first."""
    delay_s: float = 1.0
    host_connections: int = 1
    worker_queue: int = 10_000
    """How many URLs may be assigned to one worker."""
    domain_ttl_s: float = 300.0
    """How long a worker keeps a domain without work."""
    lease_s: float = 120.0
    """How long a lease holds without being renewed, and a worker without a sign of life."""

    def slots(self, host: Host) -> int:
        """Return how many requests the host may get at a time: one, where it gets pauses."""
        return 1 if host.delay_s > 0 else self.host_connections

    def ahead(self, host: Host) -> int:
        """Return how many URLs of the host may be assigned; others need room as well."""
        return 1 if host.delay_s > 0 else max(1, min(MAX_ASSIGNED, self.worker_queue // 4))

    def room(self, host: Host) -> int:
        """Return how many more may be assigned now.

        A host that gets pauses has time enough to wait for its next URL until nothing of it is in
        work; meanwhile it takes up no room.
        """
        taken = len(host.assigned) + (host.in_progress if host.delay_s > 0 else 0)
        return self.ahead(host) - taken
