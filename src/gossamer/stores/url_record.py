"""What is known about single URLs and pages.

A URL is in exactly one state:

    unscored   in the URL queue, waiting for the prioritiser
    queued     in a priority queue, waiting for the router
    assigned   in the queue of the worker that serves its domain, or of all workers together if its
               host is shared, that is, may have several requests at once
    leased     in progress at a worker
    done       finished, with exactly one outcome
    too deep   known, but deeper than the depth limit: not part of the crawl unless a shorter path
               is found

To people the first three are shown as waiting.
"""

from collections.abc import Sequence
from enum import IntEnum

import msgspec

from gossamer.model import Cause, HostKey, Outcome, Url
from gossamer.model.page import PageAttributes


class UrlState(IntEnum):
    """The state of a URL."""

    UNSCORED = 0
    QUEUED = 1
    ASSIGNED = 2
    LEASED = 3
    DONE = 4
    TOO_DEEP = 5


class Attempt(msgspec.Struct, frozen=True):
    """One attempt to fetch a URL."""

    at: float
    outcome: Outcome
    cause: Cause | None
    detail: str
    status: int | None


class UrlRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one URL."""

    id: int
    url: Url
    host: HostKey
    domain: str
    state: UrlState
    depth: int
    parent: int | None
    """The URL before it on the shortest path."""
    score: float | None
    queue: int | None
    outcome: Outcome | None
    detail: str
    page_id: int | None
    found_at: float
    finished_at: float | None
    attempts: int
    duplicate_of: int | None = None
    """The page that it repeats, if its outcome is DUPLICATE or SIMILAR."""
    similarity: float | None = None
    """How similar it is to that page, if its outcome is SIMILAR."""
    own_similarity: float | None = None
    """How similar their own contents are."""

    @property
    def kept_in(self) -> int | None:
        """The page that has its content: its own, or the one that it repeats."""
        return self.page_id or self.duplicate_of


class PageRecord(PageAttributes, frozen=True, kw_only=True, array_like=False):
    """A kept page as of its last visit, without its body."""

    id: int
    url: Url
    depth: int
    outcome: Outcome
    bytes: int
    fetched_at: float
    visits: int
    """How often it was fetched."""
    status: int | None = None
    """The HTTP status of the last answer."""


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that a module has extracted."""

    source: str
    """The module, as the user named it."""
    data: bytes
    """A JSON object."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a task, for outputs: a line of the log of results, in the order of settlement.

    It is appended in the same atomic step that settles a page, or a URL of which a module has
    extracted records. So what is in the log was settled, and is there once.
    """

    number: int
    """Grows in the order of settlement; numbers may be missing."""
    url_id: int
    page_id: int | None
    """The page that was kept; None: none was, but there are records."""
    settled_at: float
    """With the URL it tells this result from another that had its number before a server lost what
    it had written last."""
    records: tuple[Record, ...] | None = None
    """None: no module gave any; empty: what modules gave was refused."""
    row: bytes | None = None
    """What outputs want of the page, such as its row in a table, made while the page was at hand.
    It is dropped when the outputs of the crawl have it, and can be made again from the page."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Record, ...]).decode


def pack_records(records: Sequence[Record] | None) -> bytes:
    """Return records as they are stored: None takes no room."""
    return b"" if records is None else _encode(records)


def unpack_records(packed: bytes | None) -> tuple[Record, ...] | None:
    """Return records as they were stored; None if no module gave any."""
    return _decode(packed) if packed else None
