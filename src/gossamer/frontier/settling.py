"""Settling a task: what it has used, how its URL has ended, and the links of its page.

A page may have ten thousand links. Its settlement adds the first of them, and the others are added
in slices, between which other steps of the store have their turn. They all belong to the same
transaction, so after a crash there are all of them or none.
"""

import math
from typing import Protocol

import msgspec

from gossamer.frontier.contract import Claim, Settled, Settlement, Task, UrlPath, attempt_of
from gossamer.frontier.leases import Lease
from gossamer.frontier.link_graph import LINKS_AT_ONCE, LinkChanges
from gossamer.frontier.rules import REPEATED
from gossamer.frontier.state import FrontierState
from gossamer.model import Outcome
from gossamer.policy.similarity import Sketch


def settle(state: FrontierState, lease: Lease, settlement: Settlement, now: float) -> LinkChanges:
    """Record the result of a task; of many links only the first are added yet."""
    task, feedback, host = settlement.task, settlement.feedback, lease.host
    next_start = (
        host.next_start if feedback is None else state.hosts.next_start_after(host, feedback)
    )
    state.end_lease(lease, next_start, now)
    has_page = settlement.page is not None
    state.hosts.count_received(host, min(settlement.received, lease.allowed))
    state.budget.use(lease.allowed, settlement.received, page=has_page)
    state.memory.counters.bytes += settlement.size
    state.memory.counters.visits += has_page
    attempt = attempt_of(settlement, now)
    is_repeated = settlement.outcome in REPEATED
    if settlement.retry or (is_repeated and state.claims.is_void(task.url_id)):
        state.wait_for_retry(task.url_id, host, attempt)
        return LinkChanges()
    return state.finish(settlement, host, attempt)


def add_slice(state: FrontierState, whole: LinkChanges) -> None:
    """Add some more links of a page that was settled since the last commit."""
    remaining = whole.remaining
    assert remaining is not None
    links, remaining.links = remaining.links[:LINKS_AT_ONCE], remaining.links[LINKS_AT_ONCE:]
    # It may have come nearer since the first of its links were added.
    depth = state.memory.urls.depths[remaining.url_id]
    changes = state.links.add(links, UrlPath(depth + 1, 0, remaining.url_id), remaining.now)
    state.memory.urls.add_links(remaining.url_id, changes.ids)
    state.follow_up(changes)
    state.credit.share(links, remaining.domain, remaining.shared_among)
    whole.new_keys += changes.new_keys
    if not remaining.links:
        whole.remaining = None
        state.adding -= 1


SHARE_DIGITS = 4
"""How exactly similarities are stored, in every store."""
SAME_CONTENT = "the same content as page "
"""The detail of a duplicate's outcome, before the number of the page that it repeats."""


class ClaimingStore(Protocol):
    """The part of `stores.contract.Store` that is needed for this."""

    async def claim(
        self,
        task: Task,
        digest: bytes,
        sketch: Sketch | None,
        now: float,
        own: dict[int, bytes] | None = None,
    ) -> Claim:
        """Give a page its number, unless identical or similar content is kept already."""

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid."""


async def claim_and_settle(
    store: ClaimingStore, settlement: Settlement, sketch: Sketch | None, now: float
) -> Settled:
    """Claim a number for the page of a settlement, and settle it, unless it must be compared."""
    page = settlement.page
    assert page is not None
    claim = await store.claim(settlement.task, page.digest, sketch, now)
    if claim.lost:
        return Settled(accepted=False)
    if claim.unread:
        return Settled(accepted=False, unread=claim.unread)
    settled = await store.settle(as_claimed(settlement, claim), now)
    return msgspec.structs.replace(settled, repeats=claim.duplicate_of)


def as_claimed(settlement: Settlement, claim: Claim, *, similar_links: bool = True) -> Settlement:
    """Return the settlement of a page with the number that it claimed, or as a repetition.

    The links of the same content are those of the page that it repeats. A similar page may have
    others: they are followed, unless `similar_links` says no.
    """
    if claim.page_id is not None and settlement.page is not None:
        page = msgspec.structs.replace(settlement.page, page_id=claim.page_id)
        return msgspec.structs.replace(settlement, page=page)
    if claim.similarity is None or claim.own_similarity is None:
        words = f"{SAME_CONTENT}{claim.duplicate_of}"
        return msgspec.structs.replace(
            settlement,
            outcome=Outcome.DUPLICATE,
            cause=None,
            detail=words,
            page=None,
            links=(),
            records=None,
            row=None,
        )
    whole, own = _percent(claim.similarity), _percent(claim.own_similarity)
    return msgspec.structs.replace(
        settlement,
        outcome=Outcome.SIMILAR,
        cause=None,
        detail=f"{whole} % like page {claim.duplicate_of}, {own} % in its own content",
        page=None,
        links=settlement.links if similar_links else (),
        similarity=round(claim.similarity, SHARE_DIGITS),
        own_similarity=round(claim.own_similarity, SHARE_DIGITS),
        records=None,
        row=None,
    )


def _percent(share: float) -> int:
    """Return a share in per cent, rounded down: 100 is what is alike throughout."""
    return math.floor(100 * share)
