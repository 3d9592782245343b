"""How long a host is left alone after a request, and when it is given up.

The pause is the configured delay, or longer for a host that is slow, fails or asks for more time.
With `--delay auto` the delay itself is a multiple of the time that a host takes to answer, as in
Mercator and Heritrix: a host that slows down under load is asked less often, until the two are in
balance. It rises quickly, falls slowly, and doubles when the host says that it has too much to do.
"""

MAX_RETRY_AFTER_S = 3600.0
"""The longest Retry-After that is obeyed: a server that asks for more is asked again hourly."""

MAX_BACK_OFF_S = 300.0

HOPELESS_AFTER = 4
"""A host is given up after this many failures in a row without any answer."""

HOPELESS_AFTER_REFUSALS = 20
"""A host is given up after this many failures in a row: about an hour, with the pauses."""


FIRST_DELAY_S = 1.0
"""The pause while nothing is known of a host, unless the floor is higher."""

PAUSE_PER_ANSWER = 5.0
"""How many times as long as an answer took the pause is, so that a host is at work for us for at
most a sixth of the time. That is the delay factor of Heritrix."""

MAX_AUTO_DELAY_S = 60.0
"""The longest pause that slow answers and refusals lead to, unless the floor is higher."""

RISE = 0.5
"""How much of the way to a longer pause one answer goes: one slow page is not a slow host."""

FALL = 0.25
"""How much of the way to a shorter one."""


def is_hopeless(failures: int, unanswered: int) -> bool:
    """Return whether a host is given up after this many failures in a row."""
    return unanswered >= HOPELESS_AFTER or failures >= HOPELESS_AFTER_REFUSALS


def longest_pause_s(delay_s: float) -> float:
    """Return the longest pause that `pause_after_request_s` can return."""
    return max(delay_s, MAX_RETRY_AFTER_S, MAX_BACK_OFF_S)


def pause_after_request_s(
    delay_s: float, *, took_s: float, failures: int, retry_after_s: float | None
) -> float:
    """Return the pause after the end of a request.

    `delay_s` is the minimum: the configured delay, or the Crawl-delay. A slow host gets at least as
    long as it took to answer, unless the operator asked for no delay; a failing host twice as long
    each time; and a host that sends Retry-After gets that.
    """
    pause_s = max(delay_s, min(took_s, MAX_BACK_OFF_S)) if delay_s > 0 else 0.0
    if failures:
        back_off_s = max(delay_s, 0.5) * 2.0 ** min(failures - 1, 20)
        pause_s = max(pause_s, min(back_off_s, MAX_BACK_OFF_S))
    if retry_after_s is not None:
        pause_s = max(pause_s, min(max(retry_after_s, 0.0), MAX_RETRY_AFTER_S))
    return pause_s


def auto_delay_s(
    delay_s: float, floor_s: float, *, took_s: float, failed: bool, overloaded: bool
) -> float:
    """Return the delay of a host after a request, from the one before.

    `took_s` is 0 if there was no request whose duration is known. A failure, such as a refused
    connection, is quick and tells nothing about how much the host can bear.
    """
    ceiling_s = max(MAX_AUTO_DELAY_S, floor_s)
    delay_s = min(delay_s, ceiling_s)
    if overloaded:
        delay_s *= 2.0
    elif took_s > 0 and not failed:
        wanted_s = PAUSE_PER_ANSWER * took_s
        delay_s += (RISE if wanted_s > delay_s else FALL) * (wanted_s - delay_s)
    return min(max(delay_s, floor_s), ceiling_s)
