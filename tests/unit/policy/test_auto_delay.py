"""The adaptive delay: up for a host that slows down or refuses, down for one that is quick."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Cause
from gossamer.policy.backoff import MAX_AUTO_DELAY_S, PAUSE_PER_ANSWER, auto_delay_s
from gossamer.policy.failures import is_overloaded

pytestmark = pytest.mark.req("B3")

FLOOR_S = 0.5
delays = st.floats(0.0, 1e6)
floors = st.floats(0.001, 86_400.0)
spans = st.floats(0.0, 1e4)


def after(delay_s: float, took_s: float, floor_s: float = FLOOR_S) -> float:
    """Return the delay after a plain answer."""
    return auto_delay_s(delay_s, floor_s, took_s=took_s, failed=False, overloaded=False)


@given(delays, floors, spans, st.booleans(), st.booleans())
def test_it_stays_between_floor_and_ceiling(
    delay_s: float, floor_s: float, took_s: float, failed: bool, overloaded: bool
) -> None:
    found = auto_delay_s(delay_s, floor_s, took_s=took_s, failed=failed, overloaded=overloaded)
    assert floor_s <= found <= max(floor_s, MAX_AUTO_DELAY_S)


@given(st.floats(FLOOR_S, MAX_AUTO_DELAY_S), spans)
def test_it_moves_towards_what_fits_and_never_past_it(delay_s: float, took_s: float) -> None:
    fits_s = min(max(PAUSE_PER_ANSWER * took_s, FLOOR_S), MAX_AUTO_DELAY_S)
    found = after(delay_s, took_s) if took_s else fits_s
    low, high = sorted((delay_s, fits_s))
    assert low - 1e-9 <= found <= high + 1e-9 or found == FLOOR_S


@given(st.floats(FLOOR_S, MAX_AUTO_DELAY_S), st.floats(0.001, 10.0))
def test_a_host_that_answers_evenly_gets_what_fits(delay_s: float, took_s: float) -> None:
    settled = reduce(after, [took_s] * 60, delay_s)
    assert settled == pytest.approx(max(FLOOR_S, PAUSE_PER_ANSWER * took_s), rel=0.01)


@given(delays, floors, spans)
def test_too_much_to_do_never_shortens_it(delay_s: float, floor_s: float, took_s: float) -> None:
    before = after(delay_s, 0.0, floor_s)
    found = auto_delay_s(before, floor_s, took_s=took_s, failed=True, overloaded=True)
    assert found == min(2 * before, max(floor_s, MAX_AUTO_DELAY_S))


def test_it_rises_quicker_than_it_falls() -> None:
    risen = after(1.0, 1.0)
    assert risen == pytest.approx(3.0)
    assert after(5.0, 0.2) == pytest.approx(4.0)


@pytest.mark.parametrize(("took_s", "failed"), [(0.0, False), (0.001, True)])
def test_what_says_nothing_about_the_host_changes_nothing(took_s: float, failed: bool) -> None:
    assert auto_delay_s(7.0, FLOOR_S, took_s=took_s, failed=failed, overloaded=False) == 7.0


@pytest.mark.parametrize(
    ("status", "cause", "expected"),
    [
        (429, Cause.STATUS_RATE_LIMITED, True),
        (503, Cause.STATUS_SERVER_ERROR, True),
        (504, Cause.STATUS_SERVER_ERROR, True),
        (500, Cause.STATUS_SERVER_ERROR, False),
        (404, Cause.STATUS_NOT_FOUND, False),
        (200, None, False),
        (None, Cause.FIRST_BYTE_TIMEOUT, True),
        (200, Cause.SILENCE_TIMEOUT, True),
        (None, Cause.CONNECTION_REFUSED, False),
    ],
)
def test_what_shows_that_a_host_has_too_much_to_do(
    status: int | None, cause: Cause | None, expected: bool
) -> None:
    assert is_overloaded(status, cause) is expected
