"""Keeping a page: claim its number, and settle it as what it turns out to be."""

import math
from typing import Protocol

import msgspec

from gossamer.content.similarity import Sketch
from gossamer.model import Outcome
from gossamer.stores.contract import Claim, Settled, Settlement, Task


class ClaimingStore(Protocol):
    """The part of `stores.contract.Store` that is needed for this."""

    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless identical or similar content is kept already."""

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid."""


async def keep_page(
    store: ClaimingStore, settlement: Settlement, sketch: Sketch | None, now: float
) -> Settled:
    """Claim a number for the page of a settlement, and settle it."""
    page = settlement.page
    assert page is not None
    claim = await store.claim(settlement.task, page.digest, sketch, now)
    if claim.lost:
        return Settled(accepted=False)
    return await store.settle(as_claimed(settlement, claim), now)


def as_claimed(settlement: Settlement, claim: Claim) -> Settlement:
    """Return the settlement of a page with the number that it claimed, or as a repetition."""
    if claim.page_id is not None and settlement.page is not None:
        page = msgspec.structs.replace(settlement.page, page_id=claim.page_id)
        return msgspec.structs.replace(settlement, page=page)
    if claim.similarity is None:
        outcome, words = Outcome.DUPLICATE, f"the same content as page {claim.duplicate_of}"
    else:
        # Rounded down: only what is alike throughout is alike to 100 per cent.
        percent = math.floor(100 * claim.similarity)
        outcome, words = Outcome.SIMILAR, f"{percent} % like page {claim.duplicate_of}"
    return msgspec.structs.replace(settlement, outcome=outcome, detail=words, page=None, links=())
