"""The state of one host and of one registered domain in a crawl."""

import math

import msgspec

from gossamer.model import HostKey

Item = tuple[float, int]
"""A URL on the scheduler: its score and its id. The smallest goes first."""


class Domain(msgspec.Struct, eq=False):
    """A registered domain: all its hosts are served by one worker at a time."""

    name: str
    worker: int | None = None
    """Who serves it; None until the first URL is assigned."""
    kept_until: float = 0.0
    """Until when the worker keeps it without work."""
    busy: int = 0
    """How many of its URLs are assigned or in progress: a domain in use does not change hands."""
    hosts: int = 0
    """How many of its hosts are on the scheduler."""


class Host(msgspec.Struct, eq=False):
    """A host: one request at a time, and a pause after each."""

    key: HostKey
    domain: Domain
    delay_s: float
    """The pause that it gets: the configured one, or a longer one that its robots.txt asks for."""
    queued: list[int]
    """How many of its URLs wait in each priority queue."""
    crawl_delay_s: float | None = None
    """What its robots.txt asks for."""
    next_start: float = 0.0
    """The earliest moment of its next request."""
    failures: int = 0
    """How many of its requests failed in a row, for the back-off."""
    unanswered: int = 0
    """How many of those in a row it did not answer at all."""
    failed_at: float = -math.inf
    """When the last of those ended."""

    promised_until: float = -math.inf
    """Until when its next place is kept for a request without a URL of its own."""
    taskless_last: bool = False
    """Whether its last place went to such a request."""

    in_progress: int = 0
    """How many requests it is getting."""
    waiting: int = 0
    """How many of its URLs wait, in whatever queue."""
    stocked: int = 0
    """The priority queues in which it has URLs, as bits."""
    ringed: int = 0
    """The priority queues in whose ring it stands, as bits."""
    aside: bool = False
    """Whether it waits beside the rings, for a moment or for room at its worker."""
    assigned: list[Item] = msgspec.field(default_factory=list)
    """A heap: its part of the worker's queue."""
    last_assigned: Item = (-math.inf, 0)
    """The one of these that goes last; in strict order nothing on the backend goes before it."""
    ticket: int = 0
    """The number of its entry in the worker's agenda; 0: it has none."""
    leaving: bool = False
    """Whether it is to be forgotten if it stays idle."""

    requests: int = 0
    failed: int = 0
    pages: int = 0
    took_s: float = 0.0
    """Of all its requests together."""

    def __repr__(self) -> str:
        return (
            f"<Host {self.key}: {self.waiting} waiting, {len(self.assigned)} of them assigned, "
            f"{self.in_progress} in progress, next at {self.next_start:.3f}>"
        )

    @property
    def idle(self) -> bool:
        """Whether nothing of it waits or is in progress."""
        return not self.in_progress and not self.waiting

    @property
    def free_at(self) -> float:
        """The earliest moment of its next request for a URL."""
        return max(self.next_start, self.promised_until)

    @property
    def mean_s(self) -> float:
        """How long its requests take."""
        return self.took_s / self.requests if self.requests else 0.0

    @property
    def first_queue(self) -> int:
        """The first priority queue in which it has URLs, where there is one."""
        return (self.stocked & -self.stocked).bit_length() - 1

    def note_request(self, ended: float, took_s: float, *, failed: bool, answered: bool) -> None:
        """Count a request and, if the host failed at it, how often it has in a row."""
        self.requests += 1
        self.failed += failed
        self.took_s += took_s
        if not failed:
            self.failures = self.unanswered = 0
        elif ended - took_s >= self.failed_at:
            # What was on its way together fails together, and counts as one.
            self.failures += 1
            self.unanswered = 0 if answered else self.unanswered + 1
            self.failed_at = ended

    def stock(self, queue: int, count: int) -> None:
        """Count URLs that were put into a priority queue, or taken out if negative."""
        self.queued[queue] += count
        if self.queued[queue]:
            self.stocked |= 1 << queue
        else:
            self.stocked &= ~(1 << queue)
