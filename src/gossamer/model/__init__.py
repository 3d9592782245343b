"""The records that all packages share: outcomes, responses, events, pages and counters.

What happens to a URL is data: every URL ends in exactly one `Outcome`. An exception means
that Gossamer itself is broken or was used wrongly (see `gossamer.errors`).
"""

from gossamer.model.candidate import Candidate
from gossamer.model.event import Event, EventKind
from gossamer.model.names import Fingerprint, HostKey, NameTable, Url
from gossamer.model.outcome import Cause, Outcome
from gossamer.model.page import Page
from gossamer.model.receipt import Receipt
from gossamer.model.response import Exchange, Headers, Response
from gossamer.model.snapshot import CauseCount, Snapshot

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
    "NameTable",
    "Outcome",
    "Page",
    "Receipt",
    "Response",
    "Snapshot",
    "Url",
]
