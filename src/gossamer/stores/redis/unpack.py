"""What people may see of the packed records of URLs, pages and hosts; pure.

What is no record of this version raises ValueError, whatever is wrong with it.
"""

import msgspec

from gossamer.model import Cause, HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, PageRecord, UrlState
from gossamer.stores.redis.messages import PAGE_NOTE, PageNote
from gossamer.stores.redis.records import PAGE, SCORED, UNREADABLE, read_host, read_url

_read_note = msgspec.msgpack.Decoder(PageNote).decode


class SeenUrl(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a URL under its id."""

    state: UrlState
    depth: int
    finished_at: float
    host: int
    parent: int | None
    score: float | None
    page_id: int | None
    found_at: float
    url: Url
    attempts: list[Attempt]


class SeenPage(msgspec.Struct, frozen=True):
    """What is kept of a page under its number."""

    fetched_at: float
    url_id: int
    note: PageNote

    def record(self, number: int, row: SeenUrl) -> PageRecord:
        """Return what is known of the page."""
        return PageRecord(
            id=number,
            url=row.url,
            depth=row.depth,
            outcome=Outcome.FETCHED,
            bytes=self.note.size,
            content_type=self.note.content_type,
            encoding=self.note.encoding,
            title=self.note.title,
            fetched_at=self.fetched_at,
        )


def unpack_url(packed: bytes) -> SeenUrl:
    """Return the record of a URL."""
    try:
        row = read_url(packed)
        attempts = [_attempt(*one) for one in row.attempts]
    except UNREADABLE as error:
        raise ValueError(f"no record of a URL: {error}") from error
    return SeenUrl(
        state=UrlState(row.state),
        depth=row.depth,
        finished_at=row.finished,
        host=row.host,
        parent=row.parent or None,
        score=row.score if row.flags & SCORED else None,
        page_id=row.page or None,
        found_at=row.found,
        url=Url(row.url),
        attempts=attempts,
    )


def unpack_page(packed: bytes) -> SeenPage:
    """Return the record of a page."""
    try:
        fetched_at, url_id = PAGE.unpack_from(packed)
        note = _read_note(packed[PAGE.size :])
    except UNREADABLE as error:
        raise ValueError(f"no record of a page: {error}") from error
    if note.version != PAGE_NOTE:
        raise ValueError(f"a note of version {note.version}")
    return SeenPage(fetched_at, int.from_bytes(url_id, "big"), note)


def unpack_host(packed: bytes) -> tuple[HostKey, str]:
    """Return the name of a host and its domain."""
    try:
        host = read_host(packed)
    except UNREADABLE as error:
        raise ValueError(f"no record of a host: {error}") from error
    return HostKey(host.name), host.domain


def _attempt(at: float, outcome: str, cause: str, detail: str, status: int | bool) -> Attempt:
    return Attempt(
        at=at,
        outcome=Outcome(outcome),
        cause=Cause[cause] if cause in Cause.__members__ else None,
        detail=detail,
        status=None if isinstance(status, bool) else status,
    )
