"""The limits of a crawl, and its budget: how much of them is used up or reserved."""

import math

import msgspec

from gossamer.frontier.hosts import Host, HostLimitRule, HostLimits, limits_of
from gossamer.model import Outcome

MAX_ASSIGNED = 256
RESERVED_FROM = 20
"""A worker with this many slots keeps some of them for hosts that answer."""


def may_try(slots: int, unproven: int) -> bool:
    """Return whether a worker may ask one more host that did not answer last, or is new.

    A quarter of its slots is for the others: servers that are silent, or drip, hold theirs for as
    long as the time-outs allow, and would soon hold all of them.
    """
    return slots < RESERVED_FROM or unproven < slots - slots // 4


class SchedulerRules(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the scheduler of one crawl."""

    queues: int = 10
    """The number of priority queues."""
    strict: bool = False
    """Whether a URL with a better score always goes first."""
    delay_s: float = 1.0
    """The least pause between two requests to a host."""
    auto_delay: bool = False
    """Whether the pause follows how a host answers (`policy/backoff.py`)."""
    host_connections: int = 1
    max_host_pages: int | None = None
    """Nothing more is requested from a host after this many pages."""
    url_queue: int = 10_000
    """While this many URLs wait for their score, no worker gets another one."""
    worker_queue: int = 10_000
    """How many URLs may be assigned to one worker."""
    host_rules: tuple[HostLimitRule, ...] = ()
    """The rules for single hosts, the most specific first."""
    domain_lease_s: float = 300.0
    """How long a worker keeps a domain without URLs."""
    lease_s: float = 120.0
    """How long a lease is valid without renewal, and a worker without a sign of life."""

    def limits(self, name: str) -> HostLimits:
        """Return the limits of a host."""
        default = HostLimits(
            delay_s=self.delay_s,
            auto_delay=self.auto_delay,
            connections=self.host_connections,
            max_pages=self.max_host_pages,
        )
        return limits_of(name, self.host_rules, default)

    def slots(self, host: Host) -> int:
        """Return how many requests to the host may run at once: one, if it has a delay."""
        return host.limits.slots(host.delay_s, host.row.pages)

    def is_shared(self, host: Host) -> bool:
        """Return whether several workers may serve the host at once."""
        return self.slots(host) > 1

    @property
    def may_share(self) -> bool:
        """Whether there may be shared hosts in this crawl."""
        ruled = any((rule.connections or 1) > 1 for rule in self.host_rules)
        return ruled or self.host_connections > 1

    def share(self, host: Host, workers: int) -> int:
        """Return how many of the slots of a shared host one of this many workers may use.

        Without a limit the first worker would take each slot again when it has settled.
        """
        return -(-host.limits.connections // workers)

    def ahead(self, host: Host) -> int:
        """Return how many URLs of the host may be assigned: a part of the worker's queue."""
        if host.delay_s > 0:
            return 1
        most = self.worker_queue // 4
        return MAX_ASSIGNED if most > MAX_ASSIGNED else most or 1

    def room(self, host: Host) -> int:
        """Return how many more URLs may be assigned now.

        A host with a delay gets its next URL when none is in progress: its pause is long enough
        for that, and meanwhile it takes up no room.
        """
        taken = len(host.assigned) + (host.in_progress if host.delay_s > 0 else 0)
        return self.ahead(host) - taken


REPEATED = frozenset({Outcome.DUPLICATE, Outcome.SIMILAR})
"""The outcomes of a URL whose page repeats another."""


class FrontierRules(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one crawl."""

    scheduler: SchedulerRules = SchedulerRules()
    max_depth: int | None = None
    max_pages: int = 10_000
    max_bytes: int = 50_000_000
    max_task_bytes: int = 500_000
    """The most bytes that one task may receive, over all of its requests."""
    revisit_s: float = math.inf
    """A finished URL to which a link is found so long after it is visited again."""
    keep_s: float = math.inf
    """How long the body of a page, and what others are compared by, are kept."""
    similarity: float | None = 0.9
    """From which similarity on a page is dropped; None: all are kept, also identical ones."""
    max_host_urls: int = 1_000_000
    """Links to a host that has this many URLs already are left out, if they lead to others."""
    relaxed_at_once: int = 200
    """How many links one step follows at most when a shorter path was found: others wait."""


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
        self.resume(allowed)
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
