"""The scorer `importance`: how important a page's domain is by the crawl's own links.

Every page passes its importance on to the domains that it links to, so that credit collects where
many links lead, long before the crawl is over (online importance: Abiteboul, Preda and Cobena,
"Adaptive On-Line Page Importance Computation", WWW 2003). The store keeps the credit; this is the
scale from credit to score.
"""

import math
from collections.abc import Sequence

from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE
from gossamer.model import Candidate


class Importance:
    """Fetches first the pages of domains to which most of the crawl's own links lead."""

    name = "importance"
    strict = False

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 0 for the domain with the most credit, 100 for one with none."""
        return [importance(candidate) for candidate in candidates]


def importance(candidate: Candidate) -> float:
    """Return the score for the domain's credit.

    The scale is logarithmic: credit spans orders of magnitude, as links on the web do. While no
    domain has any, all are in the middle.
    """
    credit, top = candidate.credit, candidate.top_credit
    if not 0 < top < math.inf:
        return MIDDLE
    if not credit > 0:
        return LAST
    if credit >= top:
        return FIRST
    return LAST * (1 - math.log1p(credit) / math.log1p(top))
