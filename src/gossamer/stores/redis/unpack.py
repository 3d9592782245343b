"""The packed records of URLs, pages and hosts, unpacked for readers; pure.

What is not a record of this version raises ValueError, whatever is wrong with it.
"""

import msgspec

from gossamer.model import Cause, Outcome, Url
from gossamer.stores.contract import Attempt, PageRecord, UrlState
from gossamer.stores.redis.messages import PAGE_NOTE, PageNote
from gossamer.stores.redis.records import (
    PAGE,
    REDIRECT,
    SCORED,
    UNREADABLE,
    HostRow,
    read_host,
    read_url,
)

_read_note = msgspec.msgpack.Decoder(PageNote).decode


class UnpackedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a URL under its id."""

    state: UrlState
    depth: int
    finished_at: float | None
    host: int
    parent: int | None
    score: float | None
    page_id: int | None
    duplicate_of: int | None
    found_at: float
    url: Url
    attempts: list[Attempt]
    outcome: Outcome | None
    """How the last attempt ended, if it finished the URL."""
    detail: str
    redirect: bool
    """Whether its one link is the target of a redirect."""


class UnpackedPage(msgspec.Struct, frozen=True):
    """What is kept of a page under its number."""

    fetched_at: float
    url_id: int
    note: PageNote

    def record(self, number: int, url: UnpackedUrl) -> PageRecord:
        """Return what is known of the page."""
        return PageRecord(
            id=number,
            url=url.url,
            depth=url.depth,
            outcome=Outcome.FETCHED,
            bytes=self.note.size,
            content_type=self.note.content_type,
            encoding=self.note.encoding,
            title=self.note.title,
            fetched_at=self.fetched_at,
        )


def unpack_url(packed: bytes) -> UnpackedUrl:
    """Return the record of a URL."""
    try:
        row = read_url(packed)
        attempts = [_attempt(*one) for one in row.attempts]
    except UNREADABLE as error:
        raise ValueError(f"no record of a URL: {error}") from error
    is_finished = row.state == UrlState.DONE
    last = attempts[-1] if attempts and is_finished else None
    return UnpackedUrl(
        state=UrlState(row.state),
        depth=row.depth,
        finished_at=row.finished if is_finished else None,
        host=row.host,
        parent=row.parent or None,
        score=row.score if row.flags & SCORED else None,
        page_id=row.page or None,
        duplicate_of=row.duplicate_of or None,
        found_at=row.found,
        url=Url(row.url),
        attempts=attempts,
        outcome=last.outcome if last else None,
        detail=last.detail if last else "",
        redirect=bool(row.flags & REDIRECT),
    )


def unpack_page(packed: bytes) -> UnpackedPage:
    """Return the record of a page."""
    try:
        fetched_at, url_id = PAGE.unpack_from(packed)
        note = _read_note(packed[PAGE.size :])
    except UNREADABLE as error:
        raise ValueError(f"no record of a page: {error}") from error
    if note.version != PAGE_NOTE:
        raise ValueError(f"a note of version {note.version}")
    return UnpackedPage(fetched_at, int.from_bytes(url_id, "big"), note)


def unpack_host(packed: bytes) -> HostRow:
    """Return the record of a host."""
    try:
        return read_host(packed)
    except UNREADABLE as error:
        raise ValueError(f"no record of a host: {error}") from error


def _attempt(at: float, outcome: str, cause: str, detail: str, status: int | bool) -> Attempt:
    return Attempt(
        at=at,
        outcome=Outcome(outcome),
        cause=Cause[cause] if cause in Cause.__members__ else None,
        detail=detail,
        status=None if isinstance(status, bool) else status,
    )
