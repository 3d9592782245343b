"""What a crawl tells whoever watches it: its steps, its messages and its counters."""

from enum import StrEnum
from typing import Literal

import msgspec

from gossamer.model.outcome import Cause, Outcome

Level = Literal["info", "warning", "error"]
"""How much a message matters."""


class EventKind(StrEnum):
    """The kinds of steps that a crawl reports to its observer."""

    FETCHED = "fetched"
    SAVED = "saved"
    SCANNING = "scanning"
    FOUND = "found"
    ALREADY_KNOWN = "already_known"
    OUTSIDE = "outside"
    ADDED = "added"
    UNFETCHED = "unfetched"
    NO_FOLLOW = "no_follow"
    NO_MARKERS = "no_markers"


class Event(msgspec.Struct, frozen=True):
    """One step of a crawl, about one URL."""

    kind: EventKind
    depth: int
    """The depth of the page that is being processed."""
    url: str
    """The URL it is about; for a link that is not a URL, its text as the page has it."""
    outcome: Outcome | None = None
    """How the URL ended, where the event is UNFETCHED."""
    detail: str = ""
    """For people: the rule, the server's words, the target of a redirect."""


class CauseCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many URLs ended with an outcome for the same cause."""

    outcome: Outcome
    cause: Cause
    status: int | None
    """The HTTP status of the last answer; None if none came."""
    urls: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the counters of a crawl."""

    waiting: int
    in_progress: int
    finished: int
    pages: int
    """URLs with a kept page."""
    visits: int
    """How often a page was fetched and kept: more than `pages` if some were visited again."""
    bytes: int
    """The size of the pages that were read, decoded."""
    received: int = 0
    """How many bytes of bodies were received, as they were sent: what `max_bytes` limits."""
    outcomes: dict[str, int]
    """How the finished URLs ended, each at its last visit."""
    causes: list[CauseCount] = []
    """Why downloads failed, the most frequent cause first."""
    hosts: int
    elapsed_s: float
    pages_per_s: float
    """Each visit of a page counts."""
    urls_per_s: float = 0.0
    """How many URLs this run has finished in a second, with a page or without."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    over_host_urls: int = 0
    """How many links were left out, because their host has as many URLs as it may have."""
    ended_by: str | None
    """What ended the crawl; None while it runs."""
    max_pages: int
    max_bytes: int
    relaxing: bool = False
    """Whether a shorter path was found that is not followed to its end: depths may decrease."""
    resting_s: float = 0.0
    """How long no host is asked yet, because the server of the store was restarted or replaced."""
    unwritten: int | None = None
    """How many results are still to be written to the outputs, when only that is left to do."""
