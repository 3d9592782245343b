"""What a scorer is, and the scorers that need nothing but the URL and the crawl's own links.

A scorer gets batches of candidates and returns numbers, from 0 (fetched first) to 100 (last): it
decides the order and nothing else. Strict scorers have URLs fetched exactly in that order, others
only make a URL more or less likely to be next.
"""

import math
import re
from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable
from urllib.parse import unquote, urlsplit

import msgspec

from gossamer.model import Candidate, Url

FIRST: Final = 0.0
"""The score of URLs to fetch first."""
MIDDLE: Final = 50.0
"""The score of URLs about which nothing is known."""
LAST: Final = 100.0
"""The score of URLs to fetch last."""

_EXTENSION = re.compile(r"\.[A-Za-z][^.]*\Z")
_DIGITS = re.compile(r"[0-9]+")
_MAX_DIGITS = 330
"""The score of a longer number is 0 as a float, and Python may refuse to parse it."""


class Scorer(Protocol):
    """A scorer of URLs, in batches. A wrong score changes the order, and never loses a page."""

    @property
    def name(self) -> str:
        """Its name on the command line and in messages."""

    @property
    def strict(self) -> bool:
        """Whether URLs are fetched exactly in the order of their scores, equal ones as they came.

        Otherwise queues are drawn at random, those of lower scores more often.
        """

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each candidate, from FIRST to LAST; never raise, never NaN."""


@runtime_checkable
class Closing(Protocol):
    """What a scorer that holds resources also has."""

    async def close(self) -> None:
        """Release everything; the scorer is not used again."""


class ScorerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong with the scorer of a crawl."""

    name: str
    trouble: str
    """The last trouble, as one sentence for people."""
    unranked: int
    """How many URLs it could not rank: they were ordered in another way."""


class Depth:
    """Fetches the pages nearest to a seed first."""

    name = "depth"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 0 for seeds, 50 for depth 1, 66.7 for depth 2 and so on towards 100.

        A deeper page never scores lower, and scores higher up to a depth of about 90 million, where
        the difference becomes too small for a float.
        """
        # The quotient of two integers is correctly rounded: no depth is out of order or range.
        return [100 * candidate.depth / (1 + candidate.depth) for candidate in candidates]


class Fifo:
    """Fetches URLs in the order in which they were found."""

    name = "fifo"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return the same score for all."""
        return [MIDDLE] * len(candidates)


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


class PageNumber:
    """Fetches pages by the number in their name, the largest first, those without one last.

    The name of a page is the last segment of its path that is not empty, percent-decoded, without
    its extension (a last dot with a letter after it). Its number is the last run of the digits 0 to
    9. The query does not count.

        /doc17.html              17
        /2020/chapter-3.html     3
        /part2-section10.html    10
        /007                     7
        /page/17/                17
        /v1.25                   25      no letter after the dot: not an extension
        /track9.mp3              9       the digit of the extension does not count
        /movie.mp4               none
        /doc%2017.html           17      %20 is a space, not a 20
        /index.html              none
        /                        none
        /list?page=4             none
    """

    name = "page-number"
    strict = True

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 100 / (2 + number), or 100 where there is no number.

        A larger number never scores higher; up to 10^15 it scores lower, above that neighbours may
        be equal, and from 325 digits on all are 0.
        """
        return [_score(digits_in_name(candidate.url)) for candidate in candidates]


def digits_in_name(url: Url) -> str | None:
    """Return the number in the page's name as it is written, None if it has none."""
    name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    numbers = _DIGITS.findall(_EXTENSION.sub("", unquote(name)))
    return numbers[-1] if numbers else None


def _score(digits: str | None) -> float:
    if digits is None:
        return LAST
    significant = digits.lstrip("0")
    # The quotient of two integers is correctly rounded however large they are.
    return FIRST if len(significant) > _MAX_DIGITS else 100 / (2 + int(significant or "0"))
