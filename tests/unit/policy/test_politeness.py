import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import HostKey
from gossamer.policy.politeness import Pacing

A, B = HostKey("a.test"), HostKey("b.test")


@pytest.mark.req("C6")
def test_the_next_request_waits_for_the_end_of_the_last_plus_the_delay() -> None:
    pacing = Pacing(1.0)
    assert pacing.wait_s(A, now=100.0) == 0.0
    pacing.ended(A, now=103.0)
    assert pacing.wait_s(A, now=103.0) == 1.0
    assert pacing.wait_s(A, now=103.75) == 0.25
    assert pacing.wait_s(A, now=104.0) == 0.0
    assert pacing.wait_s(A, now=200.0) == 0.0


def test_hosts_do_not_wait_for_each_other() -> None:
    pacing = Pacing(1.0)
    pacing.ended(A, now=100.0)
    assert pacing.wait_s(B, now=100.0) == 0.0


@pytest.mark.req("F4")
def test_a_longer_crawl_delay_counts_from_the_last_request() -> None:
    pacing = Pacing(1.0)
    pacing.ended(A, now=100.0)
    pacing.ask_longer(A, 5.0)
    assert pacing.wait_s(A, now=100.0) == 5.0
    pacing.ask_longer(A, 5.0)
    assert pacing.wait_s(A, now=100.0) == 5.0
    assert pacing.wait_s(B, now=100.0) == 0.0


def test_a_shorter_crawl_delay_does_not_hurry_us() -> None:
    pacing = Pacing(1.0)
    pacing.ended(A, now=100.0)
    pacing.ask_longer(A, 0.1)
    assert pacing.wait_s(A, now=100.0) == 1.0


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), max_size=30), st.floats(0, 5))
def test_whoever_obeys_it_never_comes_early(
    requests: list[tuple[float, float]], delay_s: float
) -> None:
    pacing, now, last_end = Pacing(delay_s), 0.0, float("-inf")
    for pause_s, length_s in requests:
        now += pause_s
        now += pacing.wait_s(A, now)
        assert now - last_end >= delay_s - 1e-9
        now += length_s
        last_end = now
        pacing.ended(A, now)
