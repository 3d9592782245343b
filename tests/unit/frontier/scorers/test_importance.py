import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier.scorers.builtin import Importance
from gossamer.model import Candidate

anything = st.floats() | st.integers()


@pytest.mark.req("D4")
def test_the_scale_runs_from_the_most_credit_to_none_by_orders_of_magnitude(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]]
) -> None:
    credits_gathered = [9999.0, 99.0, 9.0, 0.0]
    found = [candidate(credit=credit, top_credit=9999.0) for credit in credits_gathered]
    assert scores(Importance(), found) == pytest.approx([0, 50, 75, 100])
    assert not Importance.strict


def test_while_there_is_no_credit_all_are_in_the_middle(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]]
) -> None:
    assert scores(Importance(), [candidate(), candidate()]) == [50, 50]


@settings(deadline=None)
@given(st.floats(0, 1e300), st.floats(0, 1e300), st.floats(1e-300, 1e300))
def test_more_credit_is_never_later(
    candidate: Callable[..., Candidate],
    scores: Callable[..., list[float]],
    one: float,
    two: float,
    top: float,
) -> None:
    less, more = sorted([one, two])
    pair = [candidate(credit=credit, top_credit=top) for credit in (less, more)]
    later, sooner = scores(Importance(), pair)
    assert sooner <= later


@settings(deadline=None)
@given(anything, anything)
def test_whatever_the_credit_the_score_is_in_range(
    candidate: Callable[..., Candidate],
    scores: Callable[..., list[float]],
    credit: float,
    top: float,
) -> None:
    [score] = scores(Importance(), [candidate(credit=credit, top_credit=top)])
    assert not math.isnan(score)
    assert 0 <= score <= 100
