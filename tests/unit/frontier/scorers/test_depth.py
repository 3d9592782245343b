from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier.scorers.builtin import Depth
from gossamer.model import Candidate


@pytest.mark.req("D3")
def test_the_nearest_come_first(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]]
) -> None:
    found = [candidate(depth=depth) for depth in range(4)]
    assert scores(Depth(), found) == pytest.approx([0, 50, 66.667, 75], abs=0.001)
    assert Depth.strict


@settings(deadline=None)
@given(st.integers(0, 90_000_000))
def test_one_level_deeper_is_later(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]], depth: int
) -> None:
    nearer, deeper = scores(Depth(), [candidate(depth=depth), candidate(depth=depth + 1)])
    assert 0 <= nearer < deeper <= 100


@settings(deadline=None)
@given(st.integers(0), st.integers(0))
def test_no_depth_is_out_of_order_or_range(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]], one: int, two: int
) -> None:
    nearer, deeper = sorted([one, two])
    near_score, deep_score = scores(Depth(), [candidate(depth=nearer), candidate(depth=deeper)])
    assert 0 <= near_score <= deep_score <= 100
