"""What is told of a crawl: its counters, its hosts, its workers and the numbers of its pages."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from gossamer.model import HostKey

BUSY_HOSTS_NAME: Final = "busy-hosts"
"""Under which name they are among the metadata of a crawl."""
WORKERS_NOTE = "worker-views"
"""The note by which other processes know of the workers."""


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


class Counters(msgspec.Struct):
    """The counters of a crawl that are stored as notes, each under its name."""

    visits: int = 0
    """How often a page was fetched and kept."""
    bytes: int = 0
    """The size of the pages that were read, decoded."""
    received: int = 0
    """How many bytes of bodies were received."""
    short_at: int = 0
    """Under which limit of bytes the rest was too little for a task; 0: under none."""
    reading: int = 0
    """1 while seeds are still to be added."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    over_host_urls: int = 0
    """How many links were left out, because their host has as many URLs as it may have."""
    url_queue_peak: int = 0
    """How many URLs have waited for their score at most."""


def read_counters(note: Callable[[str], bytes | None]) -> Counters:
    """Read the counters from their notes."""
    return Counters(**{name: int(note(name) or b"0") for name in Counters.__struct_fields__})


class BusyHost(NamedTuple):
    """A host with much to do."""

    key: HostKey
    waiting: int
    """How many URLs with a score wait."""
    in_progress: int


def read_busy_hosts(packed: bytes | None) -> Sequence[BusyHost]:
    """Return the hosts that were stored, the busiest first; none if nothing was."""
    return () if packed is None else msgspec.msgpack.decode(packed, type=list[BusyHost])


class WorkersNote(msgspec.Struct, frozen=True):
    """All workers, as they are noted for other processes."""

    written_at: float
    workers: list[WorkerView]


def read_workers(note: bytes, now: float) -> list[WorkerView]:
    """Return the workers of a note, which have been silent since it was written."""
    found = msgspec.json.decode(note, type=WorkersNote)
    passed_s = max(0.0, now - found.written_at)
    return [
        msgspec.structs.replace(
            one, silent_s=one.silent_s + passed_s, dead_in_s=one.dead_in_s - passed_s
        )
        for one in found.workers
    ]
