"""The records that the parts of an embedded store exchange with its backend."""

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from gossamer.model import HostKey, Url
from gossamer.stores.contract import Settlement
from gossamer.stores.url_record import Attempt


class KnownUrl(msgspec.Struct, gc=False):
    """What is needed of a URL each time a link to it is found.

    It is valid until the next call of the backend.
    """

    id: int
    key: bytes
    depth: int
    hops: int
    """How many redirects lead there from the last link, on the shortest path."""
    finished_at: float = math.inf


class UrlPath(msgspec.Struct, frozen=True):
    """How a URL was found: its path from a seed."""

    depth: int
    hops: int
    parent: int | None


class RelaxingUrl(NamedTuple):
    """A URL that has come nearer, whose links are still to be followed; the nearest is smallest."""

    depth: int
    hops: int
    url_id: int
    done: int
    """How many of its links were followed already."""


class UnscoredUrl(NamedTuple):
    """A URL of the URL queue."""

    id: int
    url: Url
    host: HostKey
    domain: str
    depth: int
    score: float | None
    """As it was given."""
    lastmod: float | None
    priority: float | None


class Repetition(NamedTuple):
    """The page that a URL repeats, if it does, and how similar they are."""

    duplicate_of: int | None = None
    similarity: float | None = None
    own_similarity: float | None = None


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The stored state of a host."""

    key: HostKey
    domain: str
    delay_s: float
    next_start: float
    failures: int
    unanswered: int = 0
    crawl_delay_s: float | None = None
    requests: int = 0
    failed: int = 0
    pages: int = 0
    took_s: float = 0.0
    received: int = 0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of a backend when it is opened."""

    unscored: int
    pages: int
    last_page: int
    gaps: list[int]
    """The numbers before the last page that no page has."""


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
