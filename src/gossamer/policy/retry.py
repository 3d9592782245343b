"""Whether a failed attempt is worth another, and when a server wants it."""

from http import HTTPStatus

from gossamer.model import Cause, Headers
from gossamer.policy.failures import TREATMENTS

MAX_ATTEMPTS = 2
"""A single retry for what may pass."""

MAX_ASKED_ATTEMPTS = 5
"""More patience with a server that only asks us to come again later."""


def may_retry(cause: Cause | None, attempt: int, *, asked: bool) -> bool:
    """Tell whether to try again after this many attempts; `asked` by the server to do so."""
    if cause is None or not TREATMENTS[cause].retry:
        return False
    return attempt < (MAX_ASKED_ATTEMPTS if asked else MAX_ATTEMPTS)


def asks_to_wait(status: int | None, headers: Headers) -> bool:
    """Tell whether an answer means: not now.

    A 503 alone is as often one broken page as a busy server; with a Retry-After it is a wish.
    """
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return headers.get("retry-after") is not None
    return status == HTTPStatus.TOO_MANY_REQUESTS


def retry_after_s(headers: Headers) -> float | None:
    """Return how long the server asks us to wait; None if it does not or makes no sense.

    A date is taken relative to the server's own Date, so that its clock need not agree with ours.
    """
    value = (headers.get("retry-after") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9]) or None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 -- hardly ever, and large

    try:
        until = parsedate_to_datetime(value)
        since = parsedate_to_datetime(headers.get("date") or "")
        wait_s = (until - since).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None  # no date, or one with and one without a time zone
    return wait_s if wait_s > 0 else None
