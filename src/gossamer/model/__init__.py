"""The records that all packages share: outcomes, responses, events, pages and counters.

What happens to a URL is data: every URL ends in exactly one `Outcome`. An exception means
that Gossamer itself is broken or was used wrongly (see `gossamer.model.errors`).
"""

from gossamer.model.names import Candidate, Fingerprint, HostKey, NameTable, Url
from gossamer.model.outcome import Cause, Outcome
from gossamer.model.page import Page
from gossamer.model.progress import CauseCount, Event, EventKind, Level, Snapshot
from gossamer.model.response import Exchange, Headers, Response

__all__ = [
    "Candidate",
    "Cause",
    "CauseCount",
    "Event",
    "EventKind",
    "Exchange",
    "Fingerprint",
    "Headers",
    "HostKey",
    "Level",
    "NameTable",
    "Outcome",
    "Page",
    "Response",
    "Snapshot",
    "Url",
]
