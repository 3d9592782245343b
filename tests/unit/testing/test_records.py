import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.testing import RequestRecord, min_gap_s


def record(host: str, started: float, ended: float = math.inf) -> RequestRecord:
    return RequestRecord(host, "/", "GET", b"", 1, started, ended)


@pytest.mark.parametrize(
    ("records", "gap_s"),
    [
        ([], None),
        ([record("a", 1, 2)], None),
        ([record("a", 1, 2), record("b", 1.5, 3)], None),
        ([record("a", 1, 2), record("a", 3, 4), record("a", 4.5, 5)], 0.5),
        ([record("a", 1, 2), record("b", 2, 2.5), record("a", 3, 4)], 1),
        ([record("a", 3, 4), record("a", 1, 2)], 1),
        ([record("a", 1, 4), record("a", 3, 5)], -1),
        # The long one is still being answered when the third begins.
        ([record("a", 1, 9), record("a", 2, 3), record("a", 8, 10)], -7),
        ([record("a", 1), record("a", 2, 3)], -math.inf),
    ],
)
def test_the_smallest_gap(records: list[RequestRecord], gap_s: float | None) -> None:
    assert min_gap_s(records) == gap_s


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=20),
    st.lists(st.floats(0, 10), min_size=20, max_size=20),
)
@settings(max_examples=200, deadline=None)
def test_a_polite_client_is_never_below_its_gap(gaps: list[float], lengths: list[float]) -> None:
    records = [record("a", 0, 0)]
    for gap, length in zip(gaps, lengths, strict=False):
        started = records[-1].ended + gap
        records.append(record("a", started, started + length))
    assert min_gap_s(records) == pytest.approx(min(gaps))


def test_headers_are_read_when_asked_for() -> None:
    seen = RequestRecord("a", "/", "GET", b"Host: a\r\nX-Y:  1\x85 \r\nx-y: 2", 1, 0)
    assert seen.headers.get("host") == "a"
    assert seen.headers.get_all("x-y") == ["1", "2"]
