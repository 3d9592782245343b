"""The workers of a crawl in one flat form, for lists, for JSON and for the display."""

from collections.abc import Iterable

import msgspec

from gossamer.stores.views import WorkerView


class WorkerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A worker in a list; what it tells about its process is None until it has told it."""

    number: int
    pid: int | None
    machine: str | None
    """The name of the machine that it runs on."""
    hosts: int
    """How many hosts it serves."""
    in_progress: int
    """How many URLs it works on."""
    memory: int | None
    """Its resident memory in bytes."""
    busy: float | None
    """The share of the time in which it ran or waited for a core lately, from 0 to 1."""
    silent_s: float
    """How long ago it last gave a sign of life."""
    dead_in_s: float
    """When it counts as dead if it gives none, and others may have its hosts."""


def worker_entries(workers: Iterable[WorkerView]) -> list[WorkerEntry]:
    """Return the workers in the same order, each with what it told."""
    return [_entry(one) for one in workers]


def _entry(worker: WorkerView) -> WorkerEntry:
    told = worker.report
    return WorkerEntry(
        number=worker.number,
        pid=told.pid if told else None,
        machine=told.machine if told else None,
        hosts=worker.hosts,
        in_progress=worker.in_progress,
        memory=told.memory if told else None,
        busy=told.busy if told else None,
        silent_s=worker.silent_s,
        dead_in_s=worker.dead_in_s,
    )
