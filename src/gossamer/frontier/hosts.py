"""The state of one host and of one registered domain in a crawl."""

import math
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count

import msgspec

from gossamer.model import HostKey
from gossamer.stores.rows import HostRow, Item


class HostLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a host."""

    delay_s: float = 1.0
    """The least pause between two requests."""
    auto_delay: bool = False
    """Whether the pause follows how the host answers (`policy/backoff.py`)."""
    connections: int = 1
    """How many requests may run at once, if it has no delay."""
    max_pages: int | None = None
    """Nothing more is requested from it after this many pages."""
    max_bytes: int | None = None
    """Nothing more is requested from it after this many bytes of bodies."""

    def exhausted_budget(self, pages: int, received: int) -> str:
        """Return which budget is used up by this many pages and bytes; empty: none is."""
        if self.max_pages is not None and pages >= self.max_pages:
            return "max-pages"
        return "max-bytes" if self.max_bytes is not None and received >= self.max_bytes else ""

    def slots(self, delay_s: float, pages: int) -> int:
        """Return how many requests may run at once: one with a delay, and no more than pages.

        When the pages are used up nothing is requested any more, only ended.
        """
        slots = 1 if delay_s > 0 else self.connections
        if slots == 1 or self.max_pages is None:
            return slots
        left = self.max_pages - pages
        return min(slots, left) if left > 0 else slots


class HostLimitRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for the limits of some hosts; None: it says nothing about that."""

    host: str
    """In lower case; with `is_wild`, empty for every host."""
    is_wild: bool = False
    """Whether it is for the hosts below `host`."""
    delay_s: float | None = None
    auto_delay: bool | None = None
    """Given if the delay is."""
    connections: int | None = None
    max_pages: int | None = None
    max_bytes: int | None = None
    max_depth: int | None = None
    """How far from a seed its URLs may be."""

    def matches(self, name: str) -> bool:
        """Return whether it is for a host of this name."""
        if not self.is_wild:
            return name == self.host
        return not self.host or name.endswith(f".{self.host}")


def limits_of(name: str, rules: Iterable[HostLimitRule], default: HostLimits) -> HostLimits:
    """Return the limits of a host; of several rules, the first that says something counts."""
    limits: dict[str, object] = {}
    for rule in rules:
        if rule.matches(name):
            for field in HostLimits.__struct_fields__:
                if (value := getattr(rule, field)) is not None:
                    limits.setdefault(field, value)
    return msgspec.structs.replace(default, **limits) if limits else default


def depth_limit(name: str, rules: Iterable[HostLimitRule], default: int | None) -> int | None:
    """Return how far from a seed the URLs of a host may be; None: there is no limit."""
    depths = (rule.max_depth for rule in rules if rule.max_depth is not None and rule.matches(name))
    return next(depths, default)


ANYONE = -1
"""In place of a worker: the URLs of a shared host are assigned to all workers together."""


class Domain(msgspec.Struct, eq=False):
    """A registered domain: its hosts are served by one worker at a time, except shared ones."""

    name: str
    worker: int | None = None
    """The worker that serves it; None until the first URL is assigned."""
    kept_until: float = 0.0
    """Until when the worker keeps it without URLs."""
    busy: int = 0
    """How many of its URLs this worker has, assigned or in progress; while it has any, it stays."""
    hosts: int = 0
    """How many of its hosts are active."""


class Host(msgspec.Struct, eq=False):
    """A host: one request at a time, and a pause after each."""

    key: HostKey
    domain: Domain
    limits: HostLimits
    delay_s: float
    """The pause after a request: the longest of the configured one, the Crawl-delay, and what fits
    how it has answered."""
    queued: list[int]
    """How many of its URLs wait in each priority queue."""
    row: HostRow
    """What is stored of it: how it has answered so far; its delay and next start are here."""
    next_start: float = 0.0
    """The earliest time of its next request."""
    robots_slot_until: float = -math.inf
    """Until when its next slot is kept for a request for robots.txt."""
    robots_last: bool = False
    """Whether its last slot went to such a request."""

    in_progress: int = 0
    """How many requests to it are running."""
    waiting: int = 0
    """How many of its URLs wait, in any queue."""
    stocked: int = 0
    """The priority queues in which it has URLs, as bits."""
    queued_in: int = 0
    """The priority queues in which the router finds it, as bits."""
    is_paused: bool = False
    """Whether the router skips it: it rests for long, or its worker's queue is full."""
    assigned: list[Item] = msgspec.field(default_factory=list)
    """Its URLs in the worker's queue, as a heap."""
    worker: int | None = None
    """The worker to which these are assigned; ANYONE: the host is shared."""
    shares: dict[int, int] = msgspec.field(default_factory=dict)
    """How many of its URLs each worker took while it was shared and works on now."""
    last_assigned: Item = (-math.inf, 0)
    """The last of these; in strict order no queued URL of the host goes before it."""
    ticket: int = 0
    """The number of its entry in its worker's due hosts; 0: none."""
    leaving: bool = False
    """Whether it will be forgotten if it stays idle."""

    def __repr__(self) -> str:
        return (
            f"<Host {self.key}: {self.waiting} waiting, {len(self.assigned)} of them assigned, "
            f"{self.in_progress} in progress, next at {self.next_start:.3f}>"
        )

    @property
    def idle(self) -> bool:
        """Whether none of its URLs waits or is in progress."""
        return not self.in_progress and not self.waiting

    @property
    def free_at(self) -> float:
        """The earliest time of its next request for a task."""
        # Asked several times for each page: `max` would take three times as long.
        until = self.robots_slot_until
        return until if until > self.next_start else self.next_start

    @property
    def exhausted_budget(self) -> str:
        """Which of its budgets is used up, so that it is asked for nothing more; empty: none."""
        return self.limits.exhausted_budget(self.row.pages, self.row.received)

    @property
    def is_proven(self) -> bool:
        """Whether it answered its last request, and in time."""
        return bool(self.row.requests) and not self.row.failures

    @property
    def mean_s(self) -> float:
        """The mean duration of its requests."""
        return self.row.took_s / self.row.requests if self.row.requests else 0.0

    @property
    def first_queue(self) -> int:
        """The first priority queue in which it has URLs, if there is one."""
        return (self.stocked & -self.stocked).bit_length() - 1

    def note_request(self, ended: float, took_s: float, *, failed: bool, answered: bool) -> None:
        """Count a request, and the failures in a row."""
        row = self.row
        row.requests += 1
        row.failed += failed
        row.took_s += took_s
        if not failed:
            row.failures = row.unanswered = 0
        elif row.failed_at is None or ended - took_s >= row.failed_at:
            # Requests that ran at the same time fail together, and count as one failure.
            row.failures += 1
            row.unanswered = 0 if answered else row.unanswered + 1
            row.failed_at = ended

    def stock(self, queue: int, count: int) -> None:
        """Count URLs that were put into a priority queue, or taken out if `count` is negative."""
        self.queued[queue] += count
        if self.queued[queue]:
            self.stocked |= 1 << queue
        else:
            self.stocked &= ~(1 << queue)


class ActiveHosts:
    """The table of hosts with URLs that wait or are in progress, and of those recently idle.

    An idle host is forgotten once its next request is due and no worker keeps its domain: then the
    table knows nothing about it that its row does not.
    """

    def __init__(self, queues: int) -> None:
        self._queues = queues
        self.by_key: dict[HostKey, Host] = {}
        self._domains: dict[str, Domain] = {}
        self._idle: list[tuple[float, int, Host]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self.by_key)

    def add(self, key: HostKey, domain: str, limits: HostLimits) -> Host:
        """Add a host that is not in the table."""
        owner = self._domains.setdefault(domain, Domain(domain))
        owner.hosts += 1
        row = HostRow(id=0, key=key, domain=domain)
        queued = [0] * self._queues
        host = self.by_key[key] = Host(key, owner, limits, limits.delay_s, queued, row)
        return host

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
        del self.by_key[host.key]
        host.domain.hosts -= 1
        if not host.domain.hosts:
            del self._domains[host.domain.name]
