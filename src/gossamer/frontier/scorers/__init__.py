"""The scorers, replaceable: each gives URLs a score from 0 (fetched first) to 100 (last).

A `Scorer` gets batches of `Candidate`s and returns numbers; it decides the order and nothing else.
`fifo`, `depth` and `page-number` are strict: URLs go exactly in the order of their scores.
`importance` and `pagerank` only make a URL more or less likely to be next. `loading` finds a scorer
by its name and wraps it in a `SafeScorer`, because it may be anybody's code.

PageRank consists of `openpagerank` (the protocol), `rank_cache`, `breaker` (the circuit breaker)
and `pagerank` (the scorer). It sends requests through a function that it is given: this package
does no I/O. Few crawls use it, so it is imported from its own modules, on use.
"""

from gossamer.frontier.scorers.builtin import Depth, Fifo, Importance, PageNumber
from gossamer.frontier.scorers.contract import FIRST, LAST, MIDDLE, Scorer
from gossamer.frontier.scorers.loading import SCORERS, choose, is_strict, load
from gossamer.frontier.scorers.safe import SafeScorer

__all__ = [
    "FIRST",
    "LAST",
    "MIDDLE",
    "SCORERS",
    "Depth",
    "Fifo",
    "Importance",
    "PageNumber",
    "SafeScorer",
    "Scorer",
    "choose",
    "is_strict",
    "load",
]
