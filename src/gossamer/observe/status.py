"""The state of a crawl in words, for the live display and the plain lines."""

from gossamer.coordinator import HostView
from gossamer.model import Outcome, Snapshot
from gossamer.observe.escape import printable
from gossamer.observe.figures import count, counted, rate, size, span, visited


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
    figures = [
        f"{count(snapshot.waiting)} waiting",
        f"{count(snapshot.in_progress)} in progress",
        counted(snapshot.hosts, "host"),
    ]
    if snapshot.relaxing:
        figures.append("updating depths")
    if snapshot.unwritten is not None:
        left = counted(snapshot.unwritten, "result")
        figures.append(f"{left} to write" if snapshot.unwritten else "completing the outputs")
    return figures


def status_line(snapshot: Snapshot) -> str:
    """Return the most important figures on one line, usually of less than 80 columns."""
    pages, speed, _ = achieved(snapshot)
    waiting, in_progress, _, *more = ahead(snapshot)
    took, got = span(snapshot.elapsed_s), size(snapshot.received)
    return "  ".join([took, pages, speed, got, waiting, in_progress, *more])


def nearest_budget(snapshot: Snapshot) -> tuple[float, str]:
    """Return the larger used share of the two budgets, and its name."""
    pages = snapshot.visits / max(1, snapshot.max_pages)
    size_share = snapshot.received / max(1, snapshot.max_bytes)
    return (pages, "page budget") if pages >= size_share else (size_share, "byte budget")


def outcome_counts(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Return the counts of outcomes, in words: fetched first, then the most frequent."""
    found = [(name, number) for name, number in snapshot.outcomes.items() if number]
    found.sort(key=lambda one: (one[0] != Outcome.FETCHED, -one[1], one[0]))
    return [(printable(name.replace("_", " ")), number) for name, number in found]


def doing(host: HostView) -> str:
    """Return what a host is doing or waiting for."""
    if host.in_progress:
        return f"{count(host.in_progress)} in progress"
    if not host.waiting:
        return "nothing left"
    return f"next in {span(host.next_in_s)}" if host.next_in_s > 0 else "ready"
