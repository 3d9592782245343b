"""How pages that may be alike find each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.similarity import SAMPLE_BYTES, Banding, banding_for

THRESHOLDS = st.floats(min_value=0.3, max_value=1)


@pytest.mark.req("B8")
@pytest.mark.parametrize(
    ("threshold", "count", "rows"),
    [(0.5, 64, 4), (0.6, 32, 4), (0.7, 16, 4), (0.8, 8, 4), (0.9, 8, 9), (0.95, 8, 18)],
)
def test_the_table_is_the_one_in_the_documentation(threshold: float, count: int, rows: int) -> None:
    assert banding_for(threshold, SAMPLE_BYTES) == Banding(count, rows)


@pytest.mark.req("B8")
@given(THRESHOLDS)
def test_pages_at_the_threshold_nearly_always_meet(threshold: float) -> None:
    banding = banding_for(threshold, SAMPLE_BYTES)
    assert banding.meeting(threshold) >= 0.98
    assert banding.meeting(min(1.0, threshold + 0.05)) >= 0.995


@given(THRESHOLDS)
def test_there_are_minima_enough(threshold: float) -> None:
    banding = banding_for(threshold, SAMPLE_BYTES)
    assert 1 <= banding.count * banding.rows <= SAMPLE_BYTES


def test_at_the_usual_threshold_pages_with_half_in_common_hardly_ever_meet() -> None:
    assert banding_for(0.9, SAMPLE_BYTES).meeting(0.5) < 0.02


def test_any_threshold_has_bands() -> None:
    assert banding_for(0.0, SAMPLE_BYTES).rows == 1
    assert banding_for(1.0, SAMPLE_BYTES).meeting(1.0) == 1
