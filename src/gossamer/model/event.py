"""The steps of a crawl, as its observer hears of them."""

from enum import StrEnum

import msgspec

from gossamer.model.outcome import Outcome


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
