"""The records that the parts of the rules exchange."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from gossamer.stores.contract import Settlement
from gossamer.stores.url_record import Attempt


class UrlPath(msgspec.Struct, frozen=True):
    """How a URL was found: its path from a seed."""

    depth: int
    hops: int
    parent: int | None


class Repetition(NamedTuple):
    """The page that a URL repeats, if it does, and how similar they are."""

    duplicate_of: int | None = None
    similarity: float | None = None
    own_similarity: float | None = None


class Figures(msgspec.Struct):
    """The figures of a crawl that are stored as notes, each under its name."""

    visits: int = 0
    """How often a page was fetched and kept."""
    bytes: int = 0
    """The size of the pages that were read, decoded."""
    received: int = 0
    """How many bytes of bodies were received."""
    short_at: int = 0
    """Under which limit of bytes the rest was too little for a task; 0: under none."""
    reading: int = 0
    """1 while seeds are still to be added."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    over_host_urls: int = 0
    """How many links were left out, because their host has as many URLs as it may have."""
    url_queue_peak: int = 0
    """How many URLs have waited for their score at most."""


def read_figures(note: Callable[[str], bytes | None]) -> Figures:
    """Read the figures from their notes."""
    return Figures(**{name: int(note(name) or b"0") for name in Figures.__struct_fields__})


def attempt_of(settlement: Settlement, now: float) -> Attempt:
    """Return the attempt that a settlement records."""
    return Attempt(
        at=now,
        outcome=settlement.outcome,
        cause=settlement.cause,
        detail=settlement.detail,
        status=settlement.status,
    )
