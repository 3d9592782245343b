"""Why a crawl stands still, or a part of it, although nothing is wrong: hosts must rest."""

from collections.abc import Sequence

from gossamer.model import Snapshot
from gossamer.observe.escape import printable
from gossamer.observe.figures import counted, span
from gossamer.observe.workers import is_silent
from gossamer.stores.views import HostView
from gossamer.views.status import WorkerEntry

MINUTE_S = 60
LONG_S = 10
"""Shorter rests are not worth a word."""


def standstill(resting_s: float, workers: Sequence[WorkerEntry]) -> str | None:
    """Return in words who waits for what, and for how long; None if nobody does."""
    if resting_s > 0:
        return f"waiting {_seconds(resting_s)}: the store was restarted, and hosts rest after that"
    silent = [one for one in workers if is_silent(one) and one.in_progress and one.dead_in_s > 0]
    if not silent:
        return None
    last = max(silent, key=lambda one: one.dead_in_s)
    hosts = counted(sum(one.hosts for one in silent), "host")
    who = f"worker {last.number}" if len(silent) == 1 else f"{len(silent)} workers"
    verb = "is" if len(silent) == 1 else "are"
    return f"waiting up to {_seconds(last.dead_in_s)}: {who} of {hosts} {verb} silent"


def resting_words(snapshot: Snapshot, hosts: Sequence[HostView]) -> str | None:
    """Return for which host a crawl waits with nothing else to do; None if it does not."""
    waiting = [one for one in hosts if one.waiting]
    if snapshot.in_progress or not snapshot.waiting or not waiting:
        return None
    first = min(waiting, key=lambda one: one.next_in_s)
    if first.next_in_s < LONG_S:
        return None
    return f"waiting {_seconds(first.next_in_s)} for {printable(first.host)}, which is to rest"


def _seconds(left_s: float) -> str:
    return f"{max(1, round(left_s))}s" if left_s < MINUTE_S else span(left_s)
