"""The state of a crawl in words, for the live display and the plain lines."""

import math
from collections.abc import Mapping, Sequence

from gossamer.display.formatting import count, counted, rate, size, span, visited
from gossamer.display.outlet import printable
from gossamer.model import Outcome, Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView

LEAST_URLS = 3
"""With fewer that are finished nobody can say how long one takes."""
LONG_S = 10
"""Shorter rests are not worth a word."""
SILENT_S = 5.0
"""A worker that gave no sign of life for longer is worth a remark."""
MAX_MACHINE = 40
"""The limit of the name of a machine, which may come from anywhere."""
WORKER_HEADING = ("worker", "pid", "hosts", "in progress", "memory", "busy")
"""The names of the columns of a worker; a remark follows them."""
_MINUTE_S = 60
_DAY_S = 86_400


def estimate(snapshot: Snapshot, hosts: Sequence[HostView]) -> str:
    """Return `243 known URLs, at 1.0s each about 4 min`; empty while it cannot be known.

    It is for what is known now: new links make it longer. A host is asked once in its delay, so a
    crawl takes as long as the host that has most to do, however fast the others are.
    """
    left = snapshot.waiting + snapshot.in_progress
    if not left or snapshot.urls_per_s * snapshot.elapsed_s < LEAST_URLS:
        return ""
    turns = (host.waiting * (host.delay_s + host.mean_ms / 1000) for host in hosts if host.delay_s)
    longest_s = max(turns, default=0.0)
    seconds = max(left / snapshot.urls_per_s, longest_s)
    pages = snapshot.max_pages - snapshot.pages
    if snapshot.pages_per_s and pages / snapshot.pages_per_s < seconds:
        each, seconds = span(1 / snapshot.pages_per_s), pages / snapshot.pages_per_s
        return f"{counted(pages, 'page')} to the page budget, at {each} each about {about(seconds)}"
    return f"{counted(left, 'known URL')}, at {span(seconds / left)} each about {about(seconds)}"


def about(seconds: float) -> str:
    """Return a time as people say it: 40 s, 4 min, 3 h, 2 days."""
    for limit_s, unit_s, name in ((90, 1, "s"), (5400, 60, "min"), (2 * _DAY_S, 3600, "h")):
        if seconds < limit_s:
            return f"{max(1, round(seconds / unit_s))} {name}"
    return f"{round(seconds / _DAY_S):,} days"


def standstill(resting_s: float, workers: Sequence[WorkerView]) -> str | None:
    """Return in words who waits for what, and for how long; None if nobody does."""
    if resting_s > 0:
        return f"waiting {_seconds(resting_s)}: the store was restarted, and hosts rest after that"
    silent = [
        worker
        for worker in workers
        if is_silent(worker) and worker.in_progress and worker.dead_in_s > 0
    ]
    if not silent:
        return None
    last = max(silent, key=lambda worker: worker.dead_in_s)
    hosts = counted(sum(worker.hosts for worker in silent), "host")
    who = f"worker {last.number} of {hosts} is" if silent == [last] else ""
    who = who or f"{len(silent)} workers of {hosts} are"
    return f"waiting up to {_seconds(last.dead_in_s)}: {who} silent"


def waits_for(
    snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView]
) -> str | None:
    """Return in words what the whole crawl waits for; None if it works."""
    return standstill(snapshot.resting_s, workers) or _resting_words(snapshot, hosts)


def _resting_words(snapshot: Snapshot, hosts: Sequence[HostView]) -> str | None:
    """Return for which host a crawl waits with nothing else to do; None if it does not."""
    waiting = [host for host in hosts if host.waiting]
    if snapshot.in_progress or not snapshot.waiting or not waiting:
        return None
    first = min(waiting, key=lambda host: host.next_in_s)
    if first.next_in_s < LONG_S:
        return None
    return f"waiting {_seconds(first.next_in_s)} for {printable(first.host)}, which is to rest"


def _seconds(left_s: float) -> str:
    return f"{max(1, round(left_s))}s" if left_s < _MINUTE_S else span(left_s)


def at_work(workers: Sequence[WorkerView]) -> list[str]:
    """Return how many workers there are and their memory, in words; nothing if there is none."""
    if not workers:
        return []
    memory = sum(worker.memory or 0 for worker in workers)
    return [counted(len(workers), "worker") + (f", {size(memory)}" if memory else "")]


def first_workers(
    workers: Sequence[WorkerView], lines: int
) -> tuple[Sequence[WorkerView], str | None]:
    """Return as many workers as fit into this many lines, and a last line about the others."""
    if len(workers) <= lines:
        return workers, None
    shown = workers[: lines - 1]
    return shown, f"… and {count(len(workers) - len(shown))} more"


def worker_cells(worker: WorkerView) -> list[str]:
    """Return the columns of a worker, in the order of the heading; `-`: not known yet."""
    busy = "-" if worker.busy is None or not math.isfinite(worker.busy) else f"{worker.busy:.0%}"
    return [
        str(worker.number),
        "-" if worker.pid is None else str(worker.pid),
        count(worker.hosts),
        count(worker.in_progress),
        "-" if worker.memory is None else size(worker.memory),
        busy,
    ]


def is_silent(worker: WorkerView) -> bool:
    """Return whether the last sign of life is so old that people should know."""
    return worker.silent_s > SILENT_S


def worker_remark(worker: WorkerView, here: str) -> str:
    """Return what is special about a worker, seen from a machine; empty: nothing."""
    # A narrow display cuts what comes last.
    silent = f"silent for {span(worker.silent_s)}" if is_silent(worker) else ""
    is_elsewhere = worker.machine is not None and worker.machine != here
    machine = f"on {printable(worker.machine or '', MAX_MACHINE)}" if is_elsewhere else ""
    return ", ".join(filter(None, [silent, machine]))


def achieved(snapshot: Snapshot) -> list[str]:
    """Return what has been done of the budgets, the most important first."""
    is_revisiting = snapshot.visits > snapshot.pages
    return [
        f"{visited(snapshot.pages, snapshot.visits)} of {count(snapshot.max_pages)}"
        if is_revisiting
        else f"{count(snapshot.pages)} of {counted(snapshot.max_pages, 'page')}",
        f"{rate(snapshot.pages_per_s)} {'visits' if is_revisiting else 'pages'}/s",
        f"{size(snapshot.received)} of {size(snapshot.max_bytes)}",
    ]


def ahead(snapshot: Snapshot) -> list[str]:
    """Return what is still to be done."""
    left = [
        f"{count(snapshot.waiting)} waiting",
        f"{count(snapshot.in_progress)} in progress",
        counted(snapshot.hosts, "host"),
    ]
    if snapshot.relaxing:
        left.append("updating depths")
    if snapshot.unwritten is not None:
        results = counted(snapshot.unwritten, "result")
        left.append(f"{results} to write" if snapshot.unwritten else "completing the outputs")
    return left


def status_line(snapshot: Snapshot) -> str:
    """Return the most important counters on one line, usually of less than 80 columns."""
    pages, speed, _ = achieved(snapshot)
    waiting, in_progress, _, *more = ahead(snapshot)
    took, got = span(snapshot.elapsed_s), size(snapshot.received)
    return "  ".join([took, pages, speed, got, waiting, in_progress, *more])


def nearest_budget(snapshot: Snapshot) -> tuple[float, str]:
    """Return the larger used share of the two budgets, and its name."""
    pages = snapshot.visits / max(1, snapshot.max_pages)
    size_share = snapshot.received / max(1, snapshot.max_bytes)
    return (pages, "page budget") if pages >= size_share else (size_share, "byte budget")


def by_frequency(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the outcomes that there were: fetched first, then the most frequent."""
    counts = [(name, urls) for name, urls in outcomes.items() if urls]
    return sorted(counts, key=lambda item: (item[0] != Outcome.FETCHED, -item[1], item[0]))


def outcome_name(name: str) -> str:
    """Return `robots denied`."""
    return printable(name.replace("_", " "))


def doing(host: HostView) -> str:
    """Return what a host is doing or waiting for."""
    if host.in_progress:
        return f"{count(host.in_progress)} in progress"
    if not host.waiting:
        return "nothing left"
    return f"next in {span(host.next_in_s)}" if host.next_in_s > 0 else "ready"
