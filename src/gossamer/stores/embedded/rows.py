"""The records that the parts of an embedded store exchange with its backend."""

import math

import msgspec

from gossamer.model import HostKey, Outcome
from gossamer.stores.contract import UrlState


class KnownUrl(msgspec.Struct, gc=False):
    """What is needed of a URL each time a link to it is found.

    It is valid until the next call of the backend.
    """

    id: int
    key: bytes
    depth: int
    hops: int
    """How many redirects lead there from the last link, on the shortest path."""
    state: UrlState
    finished_at: float = math.inf


class UrlPath(msgspec.Struct, frozen=True):
    """How a URL was found: its path from a seed."""

    depth: int
    hops: int
    parent: int | None


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


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of a backend when it is opened."""

    unscored: int
    outcomes: dict[Outcome, int]
    pages: int
    last_page: int
    gaps: list[int]
    """The numbers before the last page that no page has."""
    bytes: int
