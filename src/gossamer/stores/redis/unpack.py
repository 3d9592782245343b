"""The packed records of URLs and pages, unpacked for readers; pure.

What is not a record of this version raises one of `UNREADABLE`.
"""

import struct

import msgspec

from gossamer.model import Cause, HostKey, Outcome, Url
from gossamer.stores.claim import StoredBody
from gossamer.stores.redis.messages import PAGE_NOTE, PageNote
from gossamer.stores.redis.records import PAGE, SCORED, HostRow, UrlRow, read_url, share_of
from gossamer.stores.url_record import Attempt, PageRecord, UrlRecord, UrlState

_SIZE = struct.Struct(">I")
_read_note = msgspec.msgpack.Decoder(PageNote).decode


class UnpackedUrl(msgspec.Struct, frozen=True):
    """What is kept of a URL under its id."""

    row: UrlRow
    attempts: list[Attempt]

    @property
    def outcome(self) -> Outcome | None:
        """How the last attempt ended, if it finished the URL."""
        is_finished = self.row.state == UrlState.DONE
        return self.attempts[-1].outcome if is_finished and self.attempts else None

    def record(self, url_id: int, host: HostRow, queue: int) -> UrlRecord:
        """Return what is known of the URL; `queue` is that of its score, if it has one."""
        row, outcome = self.row, self.outcome
        is_scored = row.flags & SCORED
        return UrlRecord(
            id=url_id,
            url=Url(row.url),
            host=HostKey(host.name),
            domain=host.domain,
            state=UrlState(row.state),
            depth=row.depth,
            parent=row.parent or None,
            score=row.score if is_scored else None,
            queue=queue if is_scored else None,
            outcome=outcome,
            detail=self.attempts[-1].detail if outcome else "",
            page_id=row.page or None,
            found_at=row.found,
            finished_at=row.finished if row.state == UrlState.DONE else None,
            attempts=len(self.attempts),
            duplicate_of=row.duplicate_of or None,
            similarity=share_of(row.similarity),
            own_similarity=share_of(row.own_similarity),
        )


class UnpackedPage(msgspec.Struct, frozen=True):
    """What is kept of a page under its number."""

    fetched_at: float
    url_id: int
    note: PageNote

    def record(self, number: int, found: UnpackedUrl) -> PageRecord:
        """Return what is known of the page of a URL."""
        url = found.row
        fetched = [one.status for one in found.attempts if one.outcome is Outcome.FETCHED]
        return PageRecord(
            id=number,
            url=Url(url.url),
            depth=url.depth,
            outcome=Outcome.FETCHED,
            bytes=self.note.size,
            content_type=self.note.content_type,
            encoding=self.note.encoding,
            title=self.note.title,
            fetched_at=self.fetched_at,
            visits=len(fetched),
            status=fetched[-1] if fetched else None,
        )


def unpack_url(packed: bytes) -> UnpackedUrl:
    """Return the record of a URL."""
    row = read_url(packed)
    return UnpackedUrl(row, [_attempt(*one) for one in row.attempts])


def unpack_page(packed: bytes) -> UnpackedPage:
    """Return the record of a page."""
    fetched_at, url_id = PAGE.unpack_from(packed)
    note = _read_note(packed[PAGE.size :])
    if note.version != PAGE_NOTE:
        raise ValueError(f"a note of version {note.version}")
    return UnpackedPage(fetched_at, int.from_bytes(url_id, "big"), note)


def read_body(answer: bytes) -> StoredBody:
    """Return the answer of the step that reads a body (`lua/steps/stored_body.lua`)."""
    if len(answer) <= 1:
        return StoredBody(claimed=bool(answer))
    start = 1 + _SIZE.size
    end = start + _SIZE.unpack_from(answer, 1)[0]
    return StoredBody(answer[end:], unpack_page(answer[start:end]).note.content_type)


def _attempt(at: float, outcome: str, cause: str, detail: str, status: int | bool) -> Attempt:
    return Attempt(
        at=at,
        outcome=Outcome(outcome),
        cause=Cause[cause] if cause in Cause.__members__ else None,
        detail=detail,
        status=None if isinstance(status, bool) else status,
    )
