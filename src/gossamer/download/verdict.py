"""The verdict on an answer, decided from its header before the body is read."""

import math
import re
from enum import Enum, auto

import msgspec

from gossamer.download.codings import Decoder, decoders_for
from gossamer.download.options import Accept
from gossamer.model import Cause, Headers, Url
from gossamer.policy.failures import REDIRECTS, cause_of_status
from gossamer.urls import resolve, shown

DRAIN_BYTES = 64 * 1024
"""How much of a useless body is read so that its connection can be reused."""

_MAX_LENGTH_DIGITS = 18

_HTML = frozenset({"text/html", "application/xhtml+xml"})

_TEXT_FOR_MACHINES = frozenset(
    {
        *("text/css", "text/csv", "text/tab-separated-values", "text/vtt", "text/event-stream"),
        *("text/calendar", "text/vcard", "text/x-vcalendar", "text/x-vcard", "text/x-json"),
        *("text/javascript", "text/jscript", "text/livescript", "text/ecmascript"),
        *("text/x-javascript", "text/x-ecmascript", "text/x-component", "text/cache-manifest"),
    }
)
"""`text/event-stream` matters most: it never ends."""

# RFC 9110, section 8.3.1: type "/" subtype, both tokens.
_MEDIA_TYPE = re.compile(r"[\t ]*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)")


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
    decoders: tuple[Decoder, ...] = ()


def judge(
    url: Url, status: int, headers: Headers, accept: Accept, max_body_bytes: int
) -> HeaderVerdict:
    """Return what to do with the answer to a request for `url`."""
    if status in REDIRECTS:
        return _judge_redirect(url, headers)
    cause = cause_of_status(status)
    if cause is not None:
        return HeaderVerdict(_useless(headers) if status >= 200 else BodyUse.REFUSE, cause)
    if accept is Accept.PAGE:
        content_type = headers.get("content-type")
        if not may_be_page(content_type):
            return HeaderVerdict(BodyUse.REFUSE, Cause.NOT_HTML, shown(content_type or ""))
        if _content_length(headers) > max_body_bytes:
            return HeaderVerdict(BodyUse.REFUSE, Cause.BODY_TOO_LARGE, "by its Content-Length")
    codings = headers.get_all("content-encoding")
    decoders = decoders_for(codings)
    if decoders is None:
        return HeaderVerdict(BodyUse.REFUSE, Cause.BAD_CODING, shown(", ".join(codings)))
    return HeaderVerdict(BodyUse.KEEP, decoders=tuple(decoders))


def may_be_page(content_type: str | None) -> bool:
    """Return whether a body of this Content-Type is worth downloading: HTML, or text for people.

    Without a valid type it is: then its bytes decide what it is.
    """
    match = _MEDIA_TYPE.match(content_type or "")
    kind = match[1].lower() if match else "text/html"
    return kind in _HTML or (kind.startswith("text/") and kind not in _TEXT_FOR_MACHINES)


def _judge_redirect(url: Url, headers: Headers) -> HeaderVerdict:
    locations = set(headers.get_all("location"))
    target = resolve(_as_unicode(locations.pop()), url) if len(locations) == 1 else None
    cause = Cause.REDIRECT_UNUSABLE if target is None else None
    detail = shown(", ".join(headers.get_all("location"))) if target is None else ""
    return HeaderVerdict(_useless(headers), cause, detail, target)


def _as_unicode(location: str) -> str:
    """Read the bytes of a Location as UTF-8, as browsers do, if they are valid UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return location


def _useless(headers: Headers) -> BodyUse:
    return BodyUse.DRAIN if _content_length(headers) <= DRAIN_BYTES else BodyUse.REFUSE


def _content_length(headers: Headers) -> float:
    """Return the Content-Length, 0 if there is none.

    libcurl has refused an invalid number, or several; it ignores one that is too large for it.
    """
    digits = (headers.get("content-length") or "0").partition(",")[0].strip()
    if len(digits) > _MAX_LENGTH_DIGITS or not digits.isdecimal():
        return math.inf
    return int(digits)
