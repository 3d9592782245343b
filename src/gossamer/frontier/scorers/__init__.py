"""How soon a URL is fetched: scores from 0 (first) to 100 (last), by replaceable scorers.

A `Scorer` sees `Candidate`s in batches and answers with numbers; it decides order and nothing
else. `fifo`, `depth` and `page-number` are strict: URLs go exactly in the order of their scores.
`importance` and `pagerank` only make a URL more or less likely to be next. `loading` finds a scorer
by its name and puts a fence (`SafeScorer`) around it, for it may be anybody's code.

PageRank in parts: `dialects` and `openpagerank` know the protocol, `rank_cache` and `breaker` what
need not or should not be asked, and `pagerank` carries it out, through a function that it is given:
this folder has no network of its own.
"""

from gossamer.frontier.scorers.breaker import Breaker, BreakerState
from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE, Scorer
from gossamer.frontier.scorers.depth import Depth
from gossamer.frontier.scorers.dialects import Question
from gossamer.frontier.scorers.fifo import Fifo
from gossamer.frontier.scorers.importance import Importance
from gossamer.frontier.scorers.loading import Builders, ScorerInfo, available, choose, load
from gossamer.frontier.scorers.openpagerank import MAX_ANSWER_BYTES, Answer, Endpoint
from gossamer.frontier.scorers.page_number import PageNumber
from gossamer.frontier.scorers.pagerank import Ask, PageRank, PageRankLimits
from gossamer.frontier.scorers.safe import SafeScorer

__all__ = [
    "FIRST",
    "LAST",
    "MAX_ANSWER_BYTES",
    "MIDDLE",
    "Answer",
    "Ask",
    "Breaker",
    "BreakerState",
    "Builders",
    "Depth",
    "Endpoint",
    "Fifo",
    "Importance",
    "PageNumber",
    "PageRank",
    "PageRankLimits",
    "Question",
    "SafeScorer",
    "Scorer",
    "ScorerInfo",
    "available",
    "choose",
    "load",
]
