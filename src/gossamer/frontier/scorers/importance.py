"""How important a page's domain is, as far as the crawl's own links tell.

Every page hands its importance on to the domains that it links to, so that credit gathers where
many links lead, long before the crawl is over (online importance: Abiteboul, Preda and Cobena,
"Adaptive On-Line Page Importance Computation", WWW 2003). Keeping the credit is the store's part;
this is the scale from credit to score.
"""

import math
from collections.abc import Sequence

from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE
from gossamer.model import Candidate


class Importance:
    """Takes pages of the domains first to which most of the crawl's own links lead."""

    name = "importance"
    strict = False

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 0 for the domain with the most credit, 100 for one with none."""
        return [importance(candidate) for candidate in candidates]


def importance(candidate: Candidate) -> float:
    """Return the score that the domain's credit is worth.

    The scale is logarithmic: credit is spread over orders of magnitude, as links on the web are.
    While no domain has any, nothing tells them apart, and all are in the middle.
    """
    credit, top = candidate.credit, candidate.top_credit
    if not 0 < top < math.inf:
        return MIDDLE
    if not credit > 0:
        return LAST
    if credit >= top:
        return FIRST
    return LAST * (1 - math.log1p(credit) / math.log1p(top))
