"""The workers of a crawl in words, for the live display and `gossamer status`."""

import math
import socket
from collections.abc import Sequence

from gossamer.observe.escape import printable
from gossamer.observe.figures import count, counted, size, span
from gossamer.views.status import WorkerEntry

SILENT_S = 5.0
"""A worker that gave no sign of life for longer is worth a remark."""
MAX_MACHINE = 40
"""The limit of the name of a machine, which may come from anywhere."""

WORKER_HEADING = ("worker", "pid", "hosts", "in progress", "memory", "busy")
"""The names of the figures; a remark follows them."""


def this_machine() -> str:
    """Return the name of the machine that this process runs on."""
    return socket.gethostname()


def at_work(workers: Sequence[WorkerEntry]) -> list[str]:
    """Return how many workers there are and their memory, in words; nothing if there is none."""
    if not workers:
        return []
    memory = sum(one.memory or 0 for one in workers)
    return [counted(len(workers), "worker") + (f", {size(memory)}" if memory else "")]


def first_workers(
    workers: Sequence[WorkerEntry], lines: int
) -> tuple[Sequence[WorkerEntry], str | None]:
    """Return as many workers as fit into this many lines, and a last line about the others."""
    if len(workers) <= lines:
        return workers, None
    shown = workers[: lines - 1]
    return shown, f"… and {count(len(workers) - len(shown))} more"


def worker_figures(worker: WorkerEntry) -> list[str]:
    """Return the figures of a worker, in the order of the heading; `-`: not known yet."""
    busy = "-" if worker.busy is None or not math.isfinite(worker.busy) else f"{worker.busy:.0%}"
    return [
        str(worker.number),
        "-" if worker.pid is None else str(worker.pid),
        count(worker.hosts),
        count(worker.in_progress),
        "-" if worker.memory is None else size(worker.memory),
        busy,
    ]


def is_silent(worker: WorkerEntry) -> bool:
    """Return whether the last sign of life is so old that people should know."""
    return worker.silent_s > SILENT_S


def worker_remark(worker: WorkerEntry, here: str) -> str:
    """Return what is special about a worker, seen from a machine; empty: nothing."""
    words = []
    # First, since a narrow display cuts the rest.
    if is_silent(worker):
        words.append(f"silent for {span(worker.silent_s)}")
    if worker.machine is not None and worker.machine != here:
        words.append(f"on {printable(worker.machine, MAX_MACHINE)}")
    return ", ".join(words)
