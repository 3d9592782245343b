import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.values import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("1s", 1.0),
        ("1.5s", 1.5),
        ("0s", 0.0),
        ("0", 0.0),
        ("5m", 300.0),
        ("1h", 3600.0),
        ("0.1ms", 0.0001),
        (" 2 s ", 2.0),
        ("90m", 5400.0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "abc", "1", "1.5", "-1s", "+1s", "1 hour", "1S", "1M", "nan", "inf", "nans", "1d"),
        *("1e3s", ".5s", "1.s", "1s2", "1,5s", "\u0661s", "9" * 30 + "s", "1s\n1s"),
    ],
)
def test_what_is_not_a_duration(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0005, "0.5ms"),
        (0.5, "500ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (60, "1m"),
        (90, "90s"),
        (5400, "90m"),
        (3600, "1h"),
        (86_400, "24h"),
    ],
)
def test_durations_are_written_in_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.just(0.0), st.floats(0.001, 1e9), st.integers(1, 10**9).map(float)))
def test_a_duration_survives_writing_and_reading(seconds: float) -> None:
    text = format_duration(seconds)
    assert parse_duration(text) == seconds
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)?(ms|s|m|h)", text)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("500kB", 500_000),
        ("50MB", 50_000_000),
        ("1GB", 10**9),
        ("2TB", 2 * 10**12),
        ("64KiB", 65_536),
        ("1MiB", 1_048_576),
        ("1.5kB", 1500),
        ("50mb", 50_000_000),
        ("500 KB", 500_000),
        ("1234", 1234),
        ("7B", 7),
        ("0", 0),
    ],
)
def test_sizes_are_read(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "1M", "1k", "0.5B", "1.00001kB", "nan", "1e6"])
def test_what_is_not_a_size(text: str) -> None:
    assert parse_size(text) is None


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.integers(0, 10**15), st.integers(0, 999).map(lambda n: n * 2**20)))
def test_a_size_survives_writing_and_reading(size_bytes: int) -> None:
    text = format_size(size_bytes)
    assert parse_size(text) == size_bytes
    assert len(text) <= len(str(size_bytes)) + 1


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0B"), (1, "1B"), (500_000, "500kB"), (1_500_000, "1500kB"), (65_536, "64KiB")],
)
def test_sizes_are_written_in_the_largest_unit_that_fits(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_quantity_or_not(text: str) -> None:
    seconds = parse_duration(text)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
    size_bytes = parse_size(text)
    assert size_bytes is None or size_bytes >= 0
