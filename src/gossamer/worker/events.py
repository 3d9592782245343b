"""What is told of a task: to whoever watches, in the order of the classic crawler; to modules."""

from collections.abc import Callable, Iterable

from gossamer.content.links import PageLink
from gossamer.content.page_parser import ParsedPage
from gossamer.frontier.contract import FrontierClient, Settled, Settlement, Task
from gossamer.model import Event, EventKind, Outcome
from gossamer.modules.contract import FinishedUrl
from gossamer.policy.content_kinds import HYPERLINKS
from gossamer.worker.context import Modules
from gossamer.worker.link_filter import LinkFilter

Watch = Callable[[Event], None]

REPORTED_AT_ONCE = 200
"""Of how many pages the frontier is asked at once for their final depths."""


def emit_end(watch: Watch, settlement: Settlement, settled: Settled) -> None:
    """Tell how a task ended that yielded no page, and where a redirect leads."""
    task = settlement.task
    again = "; to be tried again" if settlement.retry else ""
    detail = settlement.detail + again
    watch(Event(EventKind.UNFETCHED, task.depth, task.url, settlement.outcome, detail))
    if settlement.outcome is Outcome.REDIRECTED:
        for link in settlement.links:
            _emit_link(watch, task, link.url, link.key, set(settled.new_links))


def emit_page(
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
        emit_links(watch, settlement, parsed.links, link_filter, settled)
    else:
        watch(Event(EventKind.NO_FOLLOW, task.depth, task.url))


def emit_links(
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
            _emit_link(watch, task, filed.url, filed.key, left)


def _emit_link(watch: Watch, task: Task, url: str, key: bytes, new: set[bytes]) -> None:
    """Tell whether a link is new; a second one to the same page is not."""
    kind = EventKind.ADDED if key in new else EventKind.ALREADY_KNOWN
    new.discard(key)
    watch(Event(kind, task.depth, url))


def end_of(settlement: Settlement) -> FinishedUrl:
    """Return how a URL has ended, as a module sees it."""
    task, page = settlement.task, settlement.page
    is_redirect = settlement.outcome is Outcome.REDIRECTED
    return FinishedUrl(
        url=task.url,
        outcome=settlement.outcome,
        status=settlement.status,
        cause=settlement.cause,
        detail=settlement.detail,
        depth=task.depth,
        found_on=task.referrer_chain[-1] if task.referrer_chain else None,
        redirected_to=settlement.links[0].url if is_redirect else None,
        attempts=task.attempt,
        page_id=page.page_id if page else None,
    )


async def report_depths(frontier: FrontierClient, modules: Modules) -> None:
    """Tell modules the final depths of pages, once these are durable; a crash repeats what it cuts.

    To be called when no URL is left: only pages that they saw with a larger depth are told.
    """
    while pages := await frontier.pending_depth_changes(REPORTED_AT_ONCE):
        if modules.hooks.depths:
            await frontier.commit()
            for page_id, depth in pages:
                await modules.depth_changed(page_id, depth)
        await frontier.confirm_depth_changes(pages)
