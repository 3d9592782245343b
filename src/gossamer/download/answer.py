"""The answer to a request: its header parsed and judged, its body taken within the limits.

Everything here is decided without libcurl.
"""

import math
import re
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

import msgspec

from gossamer.download.body import Body, Decoder, codings_in, decoders_of
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Cause, Headers, Url
from gossamer.model.names import ContentKind
from gossamer.policy.content_kinds import BYTES, ENDLESS, PAGES, kind_of_type
from gossamer.policy.failures import REDIRECTS, cause_of_status
from gossamer.policy.robots import MAX_ROBOTS_BYTES
from gossamer.policy.size_limits import DRAIN_BYTES, MAX_SITEMAP_BYTES, Allowance
from gossamer.urls import resolve, shown

# RFC 9112, section 4: three digits, then a space or the end.
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?=[ \r\n])")
# HTTP/2 has no such line; libcurl writes one.
_ANY_STATUS_LINE = re.compile(rb"HTTP/(?:1\.[01]|2) ([1-9][0-9]{2})(?=[ \r\n])")
# RFC 9110, section 8.3.1: type "/" subtype, both tokens.
_MEDIA_TYPE = re.compile(r"[\t ]*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)")
_USUAL_TYPE_LENGTH = 100
_MAX_LENGTH_DIGITS = 18
_CUT_AT = {Accept.ANYTHING: MAX_ROBOTS_BYTES, Accept.SITEMAP: MAX_SITEMAP_BYTES}


class Stop(NamedTuple):
    """Why a transfer is ended by us."""

    cause: Cause | None = None
    """None: what has come is enough."""
    detail: str = ""


_ENOUGH = Stop()


class IncomingAnswer:
    """An answer whose header is complete."""

    def __init__(
        self, verdict: "HeaderVerdict", headers: Headers, accept: Accept, allowance: Allowance
    ) -> None:
        self.verdict = verdict
        self.headers = headers
        is_kept = verdict.use is BodyUse.KEEP
        self.body = Body(verdict.decoders, verdict.max_bytes) if is_kept else None
        """The body, if it is kept."""
        self._allowance = allowance
        self._part_will_do = accept is Accept.SITEMAP and not allowance.is_short
        """Whether a part of the body will do, where all of it is more than may be received."""
        self._drained_bytes = 0

    def refused(self) -> Stop | None:
        """Return why the body is not even begun, if it is not."""
        if self.body is None:
            return _ENOUGH if self.verdict.use is BodyUse.REFUSE else None
        announced = min(content_length(self.headers), self.verdict.max_bytes)
        if announced <= self._allowance.left or self._part_will_do:
            return None
        return Stop(Cause.OVER_BUDGET, "by its Content-Length")

    def take(self, data: bytes) -> Stop | None:
        """Take a piece of the body; return why that was the last, if it was."""
        is_allowed = self._allowance.take(len(data))
        if self.body is None:
            self._drained_bytes += len(data)
            return None if is_allowed and self._drained_bytes <= DRAIN_BYTES else _ENOUGH
        if not is_allowed:
            return _ENOUGH if self._part_will_do else Stop(Cause.OVER_BUDGET)
        cause = self.body.feed(data)
        if cause is None:
            return None
        return Stop(self.verdict.too_large if cause is Cause.BODY_TOO_LARGE else cause)


class HeaderReader:
    """A parser of header lines, of interim answers (1xx) and trailers too, up to a limit."""

    def __init__(self, max_bytes: int, max_count: int, *, http2: bool = False) -> None:
        """Read within these limits; `http2`: answers may be of HTTP/2."""
        self._status_line = _ANY_STATUS_LINE if http2 else _STATUS_LINE
        self._bytes_left = max_bytes
        self._lines_left = max_count
        self._lines: list[bytes] = []
        self.status: int | None = None
        self.is_http2 = False
        self.complete = False
        """Whether the header of the final answer is complete; later lines are trailers."""

    def feed(self, line: bytes) -> Cause | None:
        """Parse a line; return a cause if the answer cannot be used."""
        self._bytes_left -= len(line)
        self._lines_left -= 1
        if self._bytes_left < 0 or self._lines_left < 0:
            return Cause.HEADERS_TOO_LARGE
        # A trailer never changes the header (RFC 9110, section 6.5.1).
        if self.complete:
            return None
        if self.status is None:
            match = self._status_line.match(line)
            if match is None:
                return Cause.BAD_HTTP
            self.status = int(match[1])
            self.is_http2 = line.startswith(b"HTTP/2")
            # What is kept of an answer reads like HTTP/1.1, the form that archives have.
            self._lines = [line.replace(b"HTTP/2", b"HTTP/1.1", 1)]
            return None
        self._lines.append(line)
        if line in (b"\r\n", b"\n"):
            self._end()
        return None

    def head(self) -> bytes:
        """Return the lines so far, of the final answer, as they were received."""
        return b"".join(self._lines)

    def headers(self) -> Headers:
        """Return the fields so far."""
        return Headers.read(self.head())

    def _end(self) -> None:
        # 101 is final for us: we asked for no other protocol, and what follows is not HTTP.
        if self.status is not None and self.status < 200 and self.status != 101:
            self.status = None
        else:
            self.complete = True


class BodyUse(Enum):
    """What to do with the body."""

    KEEP = auto()
    DRAIN = auto()
    """Read and discard it, which costs less than a new connection."""
    REFUSE = auto()
    """Close the connection."""


class HeaderVerdict(msgspec.Struct, frozen=True):
    """What the header says about an answer."""

    use: BodyUse
    cause: Cause | None = None
    detail: str = ""
    target: Url | None = None
    """Where a redirect leads."""
    coding: str = ""
    """The content codings of the body, in the order in which they were applied."""
    decoders: tuple[Decoder, ...] = ()
    max_bytes: int = 0
    """How large a body may be that is kept, counted after decoding."""
    too_large: Cause | None = Cause.BODY_TOO_LARGE
    """What a body beyond the limit is; None: it is cut off there, as its beginning is of use."""


def judge(
    url: Url, status: int, headers: Headers, accept: Accept, options: FetchOptions
) -> HeaderVerdict:
    """Return what to do with the answer to a request for `url`."""
    if status in REDIRECTS:
        return _judge_redirect(url, headers)
    cause = cause_of_status(status)
    if cause is not None:
        use = _useless(headers) if status >= 200 else BodyUse.REFUSE
        return HeaderVerdict(use, cause, _explained(headers))
    verdict = _judge_type(headers, accept, options)
    if verdict.use is not BodyUse.KEEP:
        return verdict
    if accept is Accept.PAGE and content_length(headers) > verdict.max_bytes:
        return HeaderVerdict(BodyUse.REFUSE, verdict.too_large, "by its Content-Length")
    fields = headers.get_all("content-encoding")
    codings = codings_in(fields)
    decoders = decoders_of(codings)
    if decoders is None:
        return HeaderVerdict(BodyUse.REFUSE, Cause.BAD_CODING, shown(", ".join(fields)))
    return msgspec.structs.replace(verdict, coding=", ".join(codings), decoders=tuple(decoders))


def _judge_type(headers: Headers, accept: Accept, options: FetchOptions) -> HeaderVerdict:
    """Return whether a body of its type is kept, and how large it may be."""
    if accept is not Accept.PAGE:
        return HeaderVerdict(BodyUse.KEEP, max_bytes=_CUT_AT[accept], too_large=None)
    content_type = headers.get("content-type") or ""
    use = _use_of if len(content_type) <= _USUAL_TYPE_LENGTH else _use_of.__wrapped__
    is_wanted, is_page = use(content_type, options.accept)
    if not is_wanted:
        return HeaderVerdict(BodyUse.REFUSE, Cause.UNWANTED_TYPE, shown(content_type))
    if is_page:
        return HeaderVerdict(BodyUse.KEEP, max_bytes=options.max_body_bytes)
    return HeaderVerdict(
        BodyUse.KEEP, max_bytes=options.max_file_bytes, too_large=Cause.FILE_TOO_LARGE
    )


@lru_cache(1024)
def _use_of(content_type: str, accepted: frozenset[ContentKind]) -> tuple[bool, bool]:
    """Return whether a body of a type is wanted, and whether it is a page as far as that tells."""
    media_type = media_type_of(content_type)
    return is_accepted(media_type, accepted), _may_be_page(media_type, accepted)


def media_type_of(content_type: str | None) -> str:
    """Return the type of a Content-Type in lower case, without its parameters; empty if invalid."""
    match = _MEDIA_TYPE.match(content_type or "")
    return match[1].lower() if match else ""


def is_accepted(media_type: str, accepted: frozenset[ContentKind]) -> bool:
    """Return whether a body of this type is worth downloading.

    Where the type does not say what it is, its bytes decide.
    """
    if media_type in ENDLESS:
        return False
    if media_type in BYTES:
        return not accepted <= PAGES
    return _may_be_page(media_type, accepted) or kind_of_type(media_type, accepted) in accepted


def _may_be_page(media_type: str, accepted: frozenset[ContentKind]) -> bool:
    """Return whether it is a page by its type, or has none; its bytes may turn out to differ."""
    kind = kind_of_type(media_type, accepted)
    return not media_type or (kind.is_page and kind in accepted)


def _judge_redirect(url: Url, headers: Headers) -> HeaderVerdict:
    locations = headers.get_all("location")
    target = resolve(_as_unicode(locations[0]), url) if len({*locations}) == 1 else None
    if target is not None:
        return HeaderVerdict(_useless(headers), target=target)
    return HeaderVerdict(_useless(headers), Cause.REDIRECT_UNUSABLE, shown(", ".join(locations)))


def _explained(headers: Headers) -> str:
    """Return what the server says about a refusal: which login it wants, when to come again."""
    values = ((name, headers.get(name.lower())) for name in ("WWW-Authenticate", "Retry-After"))
    return ", ".join(f"{name}: {shown(value)}" for name, value in values if value is not None)


def _as_unicode(location: str) -> str:
    """Read the bytes of a Location as UTF-8, as browsers do, if they are valid UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return location


def _useless(headers: Headers) -> BodyUse:
    return BodyUse.DRAIN if content_length(headers) <= DRAIN_BYTES else BodyUse.REFUSE


def content_length(headers: Headers) -> float:
    """Return the Content-Length, 0 if there is none.

    libcurl has refused an invalid number, or several; it ignores one that is too large for it.
    """
    digits = (headers.get("content-length") or "0").partition(",")[0].strip()
    if len(digits) > _MAX_LENGTH_DIGITS or not digits.isdecimal():
        return math.inf
    return int(digits)
