"""The rules of a crawl that every store keeps to."""

import msgspec

from gossamer.frontier import SchedulerRules
from gossamer.model import Outcome

REPEATED = frozenset({Outcome.DUPLICATE, Outcome.SIMILAR})
"""How a URL ends whose page repeats another."""


class StoreRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl is limited to."""

    scheduler: SchedulerRules = SchedulerRules()
    max_depth: int | None = None
    max_pages: int = 10_000
    max_bytes: int = 50_000_000
    max_page_bytes: int = 500_000
    ttl_s: float = 3600.0
    """How long a finished link and a content are remembered."""
    similarity: float | None = 0.9
    """How much like another a page must be not to be kept; None: all are kept, also the same."""
