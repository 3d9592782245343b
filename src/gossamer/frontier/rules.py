"""The limits of a crawl, which every store enforces."""

import math

import msgspec

from gossamer.frontier.scheduler_rules import SchedulerRules
from gossamer.model import Outcome

REPEATED = frozenset({Outcome.DUPLICATE, Outcome.SIMILAR})
"""The outcomes of a URL whose page repeats another."""


class FrontierRules(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one crawl."""

    scheduler: SchedulerRules = SchedulerRules()
    max_depth: int | None = None
    max_pages: int = 10_000
    max_bytes: int = 50_000_000
    max_task_bytes: int = 500_000
    """The most bytes that one task may receive, over all of its requests."""
    revisit_s: float = math.inf
    """A finished URL to which a link is found so long after it is visited again."""
    keep_s: float = math.inf
    """How long the body of a page, and what others are compared by, are kept."""
    similarity: float | None = 0.9
    """From which similarity on a page is dropped; None: all are kept, also identical ones."""
    max_host_urls: int = 1_000_000
    """Links to a host that has this many URLs already are left out, if they lead to others."""
    relaxed_at_once: int = 200
    """How many links one step follows at most when a shorter path was found: others wait."""
