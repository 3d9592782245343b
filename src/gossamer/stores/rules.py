"""The limits of a crawl, which every store enforces."""

import msgspec

from gossamer.frontier import SchedulerRules
from gossamer.model import Outcome

REPEATED = frozenset({Outcome.DUPLICATE, Outcome.SIMILAR})
"""The outcomes of a URL whose page repeats another."""


class StoreRules(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one crawl."""

    scheduler: SchedulerRules = SchedulerRules()
    max_depth: int | None = None
    max_pages: int = 10_000
    max_bytes: int = 50_000_000
    max_page_bytes: int = 500_000
    ttl_s: float = 3600.0
    """How long a finished URL and a content are remembered."""
    similarity: float | None = 0.9
    """From which similarity on a page is dropped; None: all are kept, also identical ones."""
