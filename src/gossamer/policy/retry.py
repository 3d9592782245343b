"""The retry policy: whether to try again after a failure, and the wait that a server asks for."""

from http import HTTPStatus

from gossamer.model import Cause, Headers
from gossamer.policy.failures import TREATMENTS

MAX_ATTEMPTS = 2
"""One retry for a failure that may pass."""

MAX_ASKED_ATTEMPTS = 5
"""More retries for a server that asks us to come back later."""


def may_retry(cause: Cause | None, attempt: int, *, asked: bool) -> bool:
    """Return whether to try again after this many attempts; `asked`: the server asked us to."""
    if cause is None or not TREATMENTS[cause].retry:
        return False
    return attempt < (MAX_ASKED_ATTEMPTS if asked else MAX_ATTEMPTS)


def asks_to_wait(status: int | None, headers: Headers) -> bool:
    """Return whether an answer asks us to come back later.

    A 503 alone is as often one broken page as a busy server; with a Retry-After it is a request.
    """
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return headers.get("retry-after") is not None
    return status == HTTPStatus.TOO_MANY_REQUESTS


def retry_after_s(headers: Headers) -> float | None:
    """Return how long the server asks us to wait; None if it does not, or the value is invalid.

    A date is read relative to the server's own Date, so that its clock need not agree with ours.
    """
    value = (headers.get("retry-after") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9]) or None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 -- large and rarely needed

    try:
        until = parsedate_to_datetime(value)
        since = parsedate_to_datetime(headers.get("date") or "")
        wait_s = (until - since).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None  # no date, or one with and one without a time zone
    return wait_s if wait_s > 0 else None
