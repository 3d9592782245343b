import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.display.formatting import count, counted, rate, size, span


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (3_400_000, "3.4 MB"),
        (9_949_999, "9.9 MB"),
        (9_950_000, "10 MB"),
        (50_000_000, "50 MB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (1_234_000_000, "1.2 GB"),
        (10**19, "10,000 PB"),
    ],
)
def test_sizes(size_bytes: int, text: str) -> None:
    assert size(size_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1.0, "0s"),
        (0.0, "0s"),
        (0.045, "45ms"),
        (0.9996, "1.0s"),
        (4.23, "4.2s"),
        (9.96, "10s"),
        (27.4, "27s"),
        (59.6, "1m 00s"),
        (65.0, "1m 05s"),
        (3599.6, "1h 00m"),
        (7380.0, "2h 03m"),
        (273_600.0, "3d 04h"),
        (math.inf, "-"),
        (math.nan, "-"),
    ],
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [(0.0, "0"), (0.94, "0.9"), (9.96, "10"), (1234.4, "1,234"), (math.inf, "-")],
)
def test_rates(per_second: float, text: str) -> None:
    assert rate(per_second) == text


def test_counts() -> None:
    assert count(12345) == "12,345"
    assert [counted(number, "page") for number in (0, 1, 2000)] == [
        "0 pages",
        "1 page",
        "2,000 pages",
    ]


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
