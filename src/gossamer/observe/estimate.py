"""The estimate of how long a crawl goes on."""

from collections.abc import Sequence

from gossamer.coordinator import HostView
from gossamer.model import Snapshot
from gossamer.observe.figures import counted, span

LEAST_URLS = 3
"""With fewer that are finished nobody can say how long one takes."""
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
