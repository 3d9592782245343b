"""The modules as a worker has them, and what their hooks have to do with a settlement."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from gossamer.frontier.contract import FrontierClient, Link, Settlement
from gossamer.model import Outcome, Page
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.worker.link_filter import LinkFilter

REPORTED_AT_ONCE = 200
"""Of how many pages the store is asked at once whether they have come nearer."""


class Modules(Protocol):
    """The modules, as the page path sees them."""

    @property
    def hooks(self) -> Hooks:
        """Which hooks any of the modules has."""

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        """Show a page to every module, with the links that are about to be followed."""

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Tell how a URL has ended; return what was extracted."""

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell that a page shown before is nearer than was known."""


def offered(links: Iterable[Link]) -> list[FollowedLink]:
    """Return the links that are about to be followed, as a module sees them."""
    return [FollowedLink(link.url) for link in links]


def with_delivered(
    settlement: Settlement, delivered: Delivered, link_filter: LinkFilter
) -> Settlement:
    """Return a settlement with what modules have extracted and chosen."""
    links = settlement.links
    if delivered.links is not None:
        links = _chosen(delivered.links, link_filter)
    return msgspec.structs.replace(settlement, records=delivered.given, links=links)


def _chosen(links: Sequence[FollowedLink], link_filter: LinkFilter) -> list[Link]:
    """Return those of the chosen links that are in scope; of one chosen twice the first counts."""
    found: dict[bytes, Link] = {}
    for one in links:
        link = link_filter.judge(one.url)
        if link is not None and one.score is not None:
            link = msgspec.structs.replace(link, score=float(one.score))
        if link is not None:
            found.setdefault(link.key, link)
    return list(found.values())


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


async def report_depths(store: FrontierClient, modules: Modules) -> None:
    """Tell the modules, at the end, which pages are nearer than they know.

    The depths are durable before; after a crash they are told again at the next end.
    """
    while pages := await store.pending_depth_changes(REPORTED_AT_ONCE):
        if modules.hooks.depths:
            await store.commit()
            for page_id, depth in pages:
                await modules.depth_changed(page_id, depth)
        await store.confirm_depth_changes(pages)
