"""Telling whoever watches about each step of a visit, in the order of the classic crawler."""

from collections.abc import Callable, Iterable

from gossamer.content.links import PageLink
from gossamer.content.page_parser import ParsedPage
from gossamer.frontier.contract import Settled, Settlement, Task
from gossamer.model import Event, EventKind, Outcome
from gossamer.policy.directives import HYPERLINKS
from gossamer.worker.link_filter import LinkFilter

Watch = Callable[[Event], None]


def tell_end(watch: Watch, settlement: Settlement, settled: Settled) -> None:
    """Tell how a task ended that yielded no page, and where a redirect leads."""
    task = settlement.task
    again = "; to be tried again" if settlement.retry else ""
    detail = settlement.detail + again
    watch(Event(EventKind.UNFETCHED, task.depth, task.url, settlement.outcome, detail))
    if settlement.outcome is Outcome.REDIRECTED:
        for link in settlement.links:
            _tell_link(watch, task, link.url, link.key, set(settled.new_links))


def tell_page(
    watch: Watch,
    settlement: Settlement,
    parsed: ParsedPage,
    link_filter: LinkFilter,
    settled: Settled,
    *,
    follow: bool,
) -> None:
    """Tell what was found on a page, and what became of its links, if they are to be followed."""
    task = settlement.task
    detail = "" if parsed.markers_missing else settlement.detail
    watch(Event(EventKind.SCANNING, task.depth, task.url, detail=detail))
    if parsed.markers_missing:
        watch(Event(EventKind.NO_MARKERS, task.depth, task.url))
    if follow:
        tell_links(watch, settlement, parsed.links, link_filter, settled)
    else:
        watch(Event(EventKind.NO_FOLLOW, task.depth, task.url))


def tell_links(
    watch: Watch,
    settlement: Settlement,
    links: Iterable[PageLink],
    link_filter: LinkFilter,
    settled: Settled,
) -> None:
    """Tell of every link of a page, and what became of it: a module may not want it followed."""
    task, left = settlement.task, set(settled.new_links)
    followed = {link.key for link in settlement.links}
    for link in links:
        detail = "" if link.kind in HYPERLINKS else str(link.kind)
        watch(Event(EventKind.FOUND, task.depth, link.url or link.href, detail=detail))
        filed = link_filter.judge(link.url) if link.url else None
        if filed is None or filed.key not in followed:
            watch(Event(EventKind.OUTSIDE, task.depth, link.url or link.href))
        else:
            _tell_link(watch, task, filed.url, filed.key, left)


def _tell_link(watch: Watch, task: Task, url: str, key: bytes, new: set[bytes]) -> None:
    """Tell whether a link is new; a second one to the same page is not."""
    kind = EventKind.ADDED if key in new else EventKind.ALREADY_KNOWN
    new.discard(key)
    watch(Event(kind, task.depth, url))
