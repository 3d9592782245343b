"""The scorer `page-number`: the number in a page's name, larger first.

The name of a page is the last segment of its path that is not empty, percent-decoded, without its
extension (a last dot with a letter after it). Its number is the last run of the digits 0 to 9. The
query does not count.

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

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from gossamer.frontier.scorers.contract import FIRST, LAST
from gossamer.model import Candidate, Url

_EXTENSION = re.compile(r"\.[A-Za-z][^.]*\Z")
_DIGITS = re.compile(r"[0-9]+")
_MAX_DIGITS = 330
"""The score of a longer number is 0 as a float, and Python may refuse to parse it."""


class PageNumber:
    """Fetches pages by the number in their name, the largest first, those without one last."""

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
    found = _DIGITS.findall(_EXTENSION.sub("", unquote(name)))
    return found[-1] if found else None


def _score(digits: str | None) -> float:
    if digits is None:
        return LAST
    significant = digits.lstrip("0")
    # The quotient of two integers is correctly rounded however large they are.
    return FIRST if len(significant) > _MAX_DIGITS else 100 / (2 + int(significant or "0"))
