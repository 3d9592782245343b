"""The records that the parts of an embedded store exchange with its backend."""

import math
from collections.abc import Sequence

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, UrlState


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


class UnscoredUrl(msgspec.Struct, frozen=True):
    """A URL in the URL queue."""

    id: int
    url: Url
    host: HostKey
    domain: str
    depth: int


class LeasedUrl(msgspec.Struct, frozen=True):
    """What a worker needs of a leased URL."""

    url: Url
    depth: int
    attempts: int
    hops: int


class UrlPath(msgspec.Struct, frozen=True):
    """How a URL was found: its path from a seed."""

    depth: int
    hops: int
    parent: int | None


class UrlEnding(msgspec.Struct, frozen=True, kw_only=True):
    """How a URL ended, with its page and its links."""

    attempt: Attempt
    page_id: int | None = None
    duplicate_of: int | None = None
    targets: Sequence[int] = ()
    """The ids of the URLs that it links to."""
    redirect: bool = False


class LastVisit(msgspec.Struct, frozen=True):
    """The page and links of a URL from its last visit; empty if there was none."""

    page_id: int | None
    targets: Sequence[int]
    redirect: bool


class ExpiredPage(msgspec.Struct, frozen=True):
    """A page whose content was dropped."""

    page_id: int
    bands: bytes
    """The bands of its sketch, concatenated; empty if it had none."""


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
