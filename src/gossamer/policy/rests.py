"""The pauses of a host: how long it is left alone after a request."""

MAX_RETRY_AFTER_S = 3600.0
"""The longest Retry-After that is obeyed: a server that asks for more is asked again hourly."""

MAX_BACK_OFF_S = 300.0

HOPELESS_AFTER = 4
"""A host is given up after this many failures in a row without any answer."""

HOPELESS_AFTER_REFUSALS = 20
"""A host is given up after this many failures in a row: about an hour, with the pauses."""


def is_hopeless(failures: int, unanswered: int) -> bool:
    """Return whether a host is given up after this many failures in a row."""
    return unanswered >= HOPELESS_AFTER or failures >= HOPELESS_AFTER_REFUSALS


def longest_rest_s(delay_s: float) -> float:
    """Return the longest pause that `rest_s` can return."""
    return max(delay_s, MAX_RETRY_AFTER_S, MAX_BACK_OFF_S)


def rest_s(delay_s: float, *, took_s: float, failures: int, retry_after_s: float | None) -> float:
    """Return the pause after the end of a request.

    `delay_s` is the minimum: the configured delay, or the Crawl-delay. A slow host gets at least as
    long as it took to answer, unless the operator asked for no delay; a failing host twice as long
    each time; and a host that sends Retry-After gets that.
    """
    rest = max(delay_s, min(took_s, MAX_BACK_OFF_S)) if delay_s > 0 else 0.0
    if failures:
        rest = max(rest, min(max(delay_s, 0.5) * 2.0 ** min(failures - 1, 20), MAX_BACK_OFF_S))
    if retry_after_s is not None:
        rest = max(rest, min(max(retry_after_s, 0.0), MAX_RETRY_AFTER_S))
    return rest
