"""The records that the parts of the rules exchange."""

from typing import NamedTuple

import msgspec

from gossamer.frontier.contract import Settlement
from gossamer.stores.url_record import Attempt


class UrlPath(msgspec.Struct, frozen=True):
    """How a URL was found: its path from a seed."""

    depth: int
    hops: int
    parent: int | None


class Repetition(NamedTuple):
    """The page that a URL repeats, if it does, and how similar they are."""

    duplicate_of: int | None = None
    similarity: float | None = None
    own_similarity: float | None = None


def attempt_of(settlement: Settlement, now: float) -> Attempt:
    """Return the attempt that a settlement records."""
    return Attempt(
        at=now,
        outcome=settlement.outcome,
        cause=settlement.cause,
        detail=settlement.detail,
        status=settlement.status,
    )
