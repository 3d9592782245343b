"""How long a host is left alone after a request."""

MAX_RETRY_AFTER_S = 3600.0
"""The longest Retry-After that is kept: a server that asks for ten years gets an hour at a time."""

MAX_BACK_OFF_S = 300.0

HOPELESS_AFTER = 4
"""How many failures in a row without any answer end our patience with a host."""

HOPELESS_AFTER_REFUSALS = 20
"""How many of those to which it did answer: about an hour, with the pauses in between."""


def is_hopeless(failures: int, unanswered: int) -> bool:
    """Tell whether a host is not to be asked any more, after so many failures in a row."""
    return unanswered >= HOPELESS_AFTER or failures >= HOPELESS_AFTER_REFUSALS


def longest_rest_s(delay_s: float) -> float:
    """Return the longest pause that `rest_s` can come to."""
    return max(delay_s, MAX_RETRY_AFTER_S, MAX_BACK_OFF_S)


def rest_s(delay_s: float, *, took_s: float, failures: int, retry_after_s: float | None) -> float:
    """Return the pause after the end of a request.

    `delay_s` is the pause that the host gets anyway: the configured one, or the Crawl-delay. A slow
    host gets at least as long as it took to answer, unless the operator asked for no delay; a
    failing one twice as long each time; and one that names a time gets that.
    """
    rest = max(delay_s, min(took_s, MAX_BACK_OFF_S)) if delay_s > 0 else 0.0
    if failures:
        rest = max(rest, min(max(delay_s, 0.5) * 2.0 ** min(failures - 1, 20), MAX_BACK_OFF_S))
    if retry_after_s is not None:
        rest = max(rest, min(max(retry_after_s, 0.0), MAX_RETRY_AFTER_S))
    return rest
