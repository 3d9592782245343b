"""The include and exclude patterns of the user, on URLs that the web wrote.

A regular expression can take longer than the age of the universe on a URL that was made for it. So
each match has a time limit, and a URL on which a pattern reaches it is refused: it is not known
whether it should be followed. Backtracking grows with the length of the URL, so those that are as
long as the shortest such URL are refused at once, and a page full of them costs one time limit.
"""

import sys

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.urls.display import shown

MATCH_WITHIN_S = 0.1
"""Ordinary patterns take microseconds."""


class UrlPattern:
    """One pattern; text that is not a regular expression raises `UsageError`."""

    def __init__(self, pattern: str, role: str) -> None:
        import regex  # noqa: PLC0415 -- most crawls have no patterns

        self.text = pattern
        self._too_long = sys.maxsize
        try:
            self._compiled = regex.compile(pattern)
        except (regex.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"the {role} pattern {shown(pattern)} is not a regular expression: {error}"
            ) from error

    def matches(self, url: Url) -> bool | None:
        """Return whether the URL matches; None if that would take too long to find out."""
        if len(url) >= self._too_long:
            return None
        try:
            return self._compiled.search(url, timeout=MATCH_WITHIN_S) is not None
        except TimeoutError:
            self._too_long = len(url)
            return None
