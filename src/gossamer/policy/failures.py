"""The table of failures: what each cause means for the URL and for its host.

A failure that may pass is tried again; one that the server will repeat is not. A failure of the
host would affect its other pages too, so it counts against the host and not only the page.
"""

from collections.abc import Mapping
from datetime import UTC
from http import HTTPStatus
from typing import NamedTuple

from gossamer.model import Cause, Headers, Outcome


class Treatment(NamedTuple):
    """What a cause means for the URL and for its host."""

    outcome: Outcome
    retry: bool
    """Whether a second try may end better."""
    host_level: bool
    """Whether the host's other URLs would have failed too."""


TREATMENTS: Mapping[Cause, Treatment] = {
    # No answer, because of the host. A name may fail because its name server is busy.
    Cause.NAME_NOT_FOUND: Treatment(Outcome.DNS_FAILED, True, True),
    Cause.CONNECTION_REFUSED: Treatment(Outcome.CONNECTION_FAILED, True, True),
    Cause.PROXY_FAILED: Treatment(Outcome.CONNECTION_FAILED, True, True),
    Cause.CONNECT_TIMEOUT: Treatment(Outcome.TIMED_OUT, True, True),
    Cause.FIRST_BYTE_TIMEOUT: Treatment(Outcome.TIMED_OUT, True, True),
    Cause.TLS_FAILED: Treatment(Outcome.TLS_FAILED, True, True),
    Cause.CERTIFICATE_INVALID: Treatment(Outcome.TLS_FAILED, False, True),
    Cause.ADDRESS_REFUSED: Treatment(Outcome.ADDRESS_REFUSED, False, True),
    # Half an answer. A server that was still sending at the time limit will do so again. What
    # takes long keeps a connection from others, so it counts against the host.
    Cause.CONNECTION_LOST: Treatment(Outcome.CONNECTION_FAILED, True, False),
    Cause.SILENCE_TIMEOUT: Treatment(Outcome.TIMED_OUT, True, True),
    Cause.TOTAL_TIMEOUT: Treatment(Outcome.TIMED_OUT, False, True),
    Cause.TOO_SLOW: Treatment(Outcome.TIMED_OUT, False, True),
    # An answer that cannot be used.
    Cause.BAD_HTTP: Treatment(Outcome.BAD_HTTP, False, False),
    Cause.BAD_CODING: Treatment(Outcome.BAD_HTTP, False, False),
    Cause.HEADERS_TOO_LARGE: Treatment(Outcome.BAD_HTTP, False, False),
    Cause.BODY_TOO_LARGE: Treatment(Outcome.TOO_LARGE, False, False),
    Cause.FILE_TOO_LARGE: Treatment(Outcome.TOO_LARGE, False, False),
    Cause.OVER_BUDGET: Treatment(Outcome.TOO_LARGE, False, False),
    Cause.UNWANTED_TYPE: Treatment(Outcome.UNWANTED_TYPE, False, False),
    Cause.REDIRECT_UNUSABLE: Treatment(Outcome.BAD_REDIRECT, False, False),
    Cause.REDIRECT_LOOP: Treatment(Outcome.BAD_REDIRECT, False, False),
    # An answer that says there is no page.
    Cause.STATUS_NOT_FOUND: Treatment(Outcome.NOT_FOUND, False, False),
    Cause.STATUS_GONE: Treatment(Outcome.GONE, False, False),
    Cause.STATUS_RATE_LIMITED: Treatment(Outcome.RATE_LIMITED, True, True),
    Cause.STATUS_CLIENT_ERROR: Treatment(Outcome.CLIENT_ERROR, False, False),
    Cause.STATUS_SERVER_ERROR: Treatment(Outcome.SERVER_ERROR, True, False),
    Cause.STATUS_UNEXPECTED: Treatment(Outcome.BAD_HTTP, False, False),
    # Not asked for.
    Cause.TRAP_REPEATS: Treatment(Outcome.TRAP, False, False),
    Cause.TRAP_MAZE: Treatment(Outcome.TRAP, False, False),
    # A page, of which not everything is used.
    Cause.NO_MARKERS: Treatment(Outcome.FETCHED, False, False),
}

FAILED = frozenset(Outcome) - {
    Outcome.FETCHED,
    Outcome.SITEMAP,
    Outcome.REDIRECTED,
    Outcome.DUPLICATE,
    Outcome.SIMILAR,
}
"""The outcomes of URLs that led to no page: neither to their own nor to another."""

MAY_PASS = frozenset(
    {
        *(treatment.outcome for treatment in TREATMENTS.values() if treatment.retry),
        *(Outcome.ROBOTS_UNREACHABLE, Outcome.GAVE_UP, Outcome.HOST_OVER_BUDGET),
    }
)
"""Those that may be different some other day, as nobody said that they are for good."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses whose Location leads to the page (the Fetch standard's “redirect status”)."""

_STATUSES: dict[int, Cause] = {
    HTTPStatus.NOT_FOUND: Cause.STATUS_NOT_FOUND,
    HTTPStatus.GONE: Cause.STATUS_GONE,
    HTTPStatus.TOO_MANY_REQUESTS: Cause.STATUS_RATE_LIMITED,
    # Nothing, or only a part, although a plain GET asks for all of it.
    HTTPStatus.NO_CONTENT: Cause.STATUS_UNEXPECTED,
    HTTPStatus.RESET_CONTENT: Cause.STATUS_UNEXPECTED,
    HTTPStatus.PARTIAL_CONTENT: Cause.STATUS_UNEXPECTED,
}
_CLASSES = {2: None, 4: Cause.STATUS_CLIENT_ERROR, 5: Cause.STATUS_SERVER_ERROR}

RETRIES = 1
"""How often a failure that may pass is tried again, unless the operator wants otherwise."""

ASKED_RETRIES = 4
"""At least this many where the server asks us to come back later."""

_OVERLOADED = frozenset(
    {
        *(HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE),
        *(HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT),
    }
)
_TOO_LATE = frozenset(
    {
        *(Cause.CONNECT_TIMEOUT, Cause.FIRST_BYTE_TIMEOUT),
        *(Cause.SILENCE_TIMEOUT, Cause.TOTAL_TIMEOUT, Cause.TOO_SLOW),
    }
)


def status_words(status: int) -> str:
    """Return `403 Forbidden`, or the number if the status is not registered."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def cause_of_status(status: int) -> Cause | None:
    """Return why an answer of this status has no page; None when it has one, or is a redirect."""
    if status in REDIRECTS:
        return None
    return _STATUSES.get(status) or _CLASSES.get(status // 100, Cause.STATUS_UNEXPECTED)


def may_retry(
    cause: Cause | None, attempt: int, *, asked: bool = False, retries: int = RETRIES
) -> bool:
    """Return whether to try again after this many attempts; `asked`: the server asked us to."""
    if cause is None or not TREATMENTS[cause].retry:
        return False
    if asked and retries:
        retries = max(retries, ASKED_RETRIES)
    return attempt <= retries


def asks_to_wait(status: int | None, headers: Headers) -> bool:
    """Return whether an answer asks us to come back later.

    A 503 alone is as often one broken page as a busy server; with a Retry-After it is a request.
    """
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return headers.get("retry-after") is not None
    return status == HTTPStatus.TOO_MANY_REQUESTS


def is_overloaded(status: int | None, cause: Cause | None) -> bool:
    """Return whether a host shows that it has too much to do."""
    return status in _OVERLOADED or cause in _TOO_LATE


def retry_after_s(headers: Headers, now: float | None = None) -> float | None:
    """Return how long the server asks us to wait; None if it does not, or the value is invalid.

    A date is read relative to the server's own Date, so that its clock need not agree with ours;
    without one relative to `now`, in seconds since the epoch, if that is given.
    """
    value = (headers.get("retry-after") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value.lstrip("0")[:9] or 0) or None
    until, since = _moment(value), _moment(headers.get("date") or "") or now
    if until is None or since is None or until <= since:
        return None
    return until - since


def _moment(text: str) -> float | None:
    """Return a date of HTTP in seconds since the epoch; None if it is not one."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 -- large and rarely needed

    try:
        date = parsedate_to_datetime(text)
        # One of the three forms has no time zone: it means UTC (RFC 9110, section 5.6.7).
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
