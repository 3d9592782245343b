"""Refresh: the wish of a page to be replaced by another after some seconds.

It stands in a meta element or in the header, and browsers heed both (HTML standard, "shared
declarative refresh steps").
"""

import re
from typing import Final, NamedTuple

MAX_REDIRECT_S: Final = 5
"""A page that gives way so soon is not there to be read: it is a redirect. Pages that tell people
that they have moved do so for up to five seconds; a longer pause is for reading."""

_MAX_LENGTH: Final = 40_000
_MAX_DIGITS: Final = 9

_WHITE_SPACE: Final = "\t\n\f\r "
# Seconds, of which a fraction does not count, and what separates them from the URL.
_SECONDS: Final = re.compile(
    r"[\t\n\f\r ]*(?:([0-9]++)|(?=\.))[0-9.]*+(?:\Z|[\t\n\f\r ]*+[;,]|[\t\n\f\r ])"
)
_URL_IS: Final = re.compile(r"url[\t\n\f\r ]*=", re.IGNORECASE)


class Refresh(NamedTuple):
    """When a page is to be replaced, and by what."""

    seconds: int
    target: str
    """As written; empty if it is the page itself."""


def parse_refresh(text: str) -> Refresh | None:
    """Return what a refresh says; None if it says nothing that browsers understand."""
    text = text[:_MAX_LENGTH]
    match = _SECONDS.match(text)
    if match is None:
        return None
    target = text[match.end() :].strip(_WHITE_SPACE)
    if (named := _URL_IS.match(target)) is not None:
        target = target[named.end() :].lstrip(_WHITE_SPACE)
    if target[:1] in {"'", '"'}:
        target = target[1:].partition(target[0])[0].strip(_WHITE_SPACE)
    return Refresh(int((match[1] or "0")[:_MAX_DIGITS]), target)
