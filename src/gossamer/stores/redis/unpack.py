"""What people may see of the packed records of URLs, pages and hosts; pure.

What is no record of this version raises ValueError, whatever is wrong with it.
"""

import struct

import msgspec

from gossamer.model import Cause, HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, PageRecord, Place
from gossamer.stores.redis.messages import PAGE_NOTE, PageNote
from gossamer.stores.redis.scripts import RECORD_VERSION

_URL = struct.Struct(">BBBIdI5sHBBd5s5sd3s")
"""As in lua/urls.lua; the URL and the attempts follow."""
_PAGE = struct.Struct(">d5s")
"""As in lua/pages.lua; a note follows."""
_SCORED = 1

_read_attempts = msgspec.msgpack.Decoder(list[tuple[float, Outcome, str, str, int | bool]]).decode
_read_note = msgspec.msgpack.Decoder(PageNote).decode
_read_host = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_read_text = msgspec.msgpack.Decoder(str).decode


class SeenUrl(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a URL under its id."""

    place: Place
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
        fields = _URL.unpack_from(packed)
    except struct.error as error:
        raise ValueError("too short for a record") from error
    version, place, _hops, depth, finished, host, parent, tried, *more = fields
    _deaths, flags, score, page, _twin, found, size = more
    if version != RECORD_VERSION:
        raise ValueError(f"a record of version {version}")
    after = _URL.size + _number(size)
    try:  # as one array of all attempts, each of which is one already
        attempts = _read_attempts(b"\xdc" + tried.to_bytes(2, "big") + packed[after:])
    except msgspec.MsgspecError as error:
        raise ValueError("no attempts follow the URL") from error
    return SeenUrl(
        place=Place(place),
        depth=depth,
        finished_at=finished,
        host=host,
        parent=_number(parent) or None,
        score=score if flags & _SCORED else None,
        page_id=_number(page) or None,
        found_at=found,
        url=Url(packed[_URL.size : after].decode("ascii")),
        attempts=[_attempt(*one) for one in attempts],
    )


def unpack_page(packed: bytes) -> SeenPage:
    """Return the record of a page."""
    try:
        fetched_at, url_id = _PAGE.unpack_from(packed)
    except struct.error as error:
        raise ValueError("too short for a record") from error
    try:
        note = _read_note(packed[_PAGE.size :])
    except msgspec.MsgspecError as error:
        raise ValueError("no note follows") from error
    if note.version != PAGE_NOTE:
        raise ValueError(f"a note of version {note.version}")
    return SeenPage(fetched_at, _number(url_id), note)


def unpack_host(packed: bytes) -> tuple[HostKey, str]:
    """Return the name of a host and its domain."""
    try:
        name, domain, *_ = _read_host(packed)
        return HostKey(_read_text(name)), _read_text(domain)
    except msgspec.MsgspecError as error:
        raise ValueError("no host") from error


def _number(packed: bytes) -> int:
    return int.from_bytes(packed, "big")


def _attempt(at: float, outcome: Outcome, cause: str, detail: str, status: int | bool) -> Attempt:
    return Attempt(
        at=at,
        outcome=outcome,
        cause=Cause[cause] if cause in Cause.__members__ else None,
        detail=detail,
        status=None if isinstance(status, bool) else status,
    )
