"""What a store tells of hosts, workers and numbers of pages."""

import msgspec


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one host, for display."""

    host: str
    waiting: int
    in_progress: int
    pages: int
    failures: int
    """How many requests failed."""
    next_in_s: float
    """How long until its next request; 0 or less: now."""
    delay_s: float = 0.0
    """The pause between two requests to it."""
    mean_ms: float
    """The mean duration of its requests."""


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker tells about its process."""

    pid: int
    machine: str
    """The name of the machine that it runs on."""
    memory: int
    """Its resident memory in bytes."""
    busy: float
    """The share of the time in which it ran or waited for a core lately, from 0 to 1."""


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that takes part, for display."""

    number: int
    hosts: int
    """How many hosts it serves: those with URLs assigned to it or in progress there."""
    in_progress: int
    """How many URLs it works on."""
    silent_s: float
    """How long ago it last gave a sign of life."""
    dead_in_s: float = 0.0
    """When it counts as dead if it gives none, and others may have its hosts."""
    report: WorkerReport | None = None
    """What it told last; None if it has told nothing yet."""


class Numbering(msgspec.Struct, frozen=True):
    """Which numbers of pages are taken for good."""

    last_page: int
    """The largest number of a page."""
    gaps: frozenset[int]
    """The smaller numbers that are still free."""
