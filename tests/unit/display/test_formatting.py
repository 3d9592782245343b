import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.display.formatting import size, span


@given(st.floats(0, 8e7))
@settings(max_examples=200, deadline=None)
def test_a_span_fits_its_column(seconds: float) -> None:
    assert len(span(seconds)) <= 9


@given(st.integers(0, 10**17))
@settings(max_examples=200, deadline=None)
def test_a_size_fits_its_column_and_is_true(size_bytes: int) -> None:
    text = size(size_bytes)
    assert len(text) <= 6
    number, unit = text.split()
    factor = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}[unit]
    assert float(number) * factor == pytest.approx(size_bytes, rel=0.051)
