"""The retry policy: whether to try again after a failure, and the wait that a server asks for."""

from datetime import UTC
from http import HTTPStatus

from gossamer.model import Cause, Headers
from gossamer.policy.failures import TREATMENTS

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
