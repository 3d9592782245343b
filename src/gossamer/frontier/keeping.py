"""Keeping a page: claim its number, and settle it as what it turns out to be."""

import math
from typing import Protocol

import msgspec

from gossamer.frontier.claim import Claim
from gossamer.frontier.contract import Settled, Settlement, Task
from gossamer.model import Outcome
from gossamer.policy.similarity import Sketch

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


async def keep_page(
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
