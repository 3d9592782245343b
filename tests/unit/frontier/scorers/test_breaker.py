import pytest

from gossamer.frontier.scorers.pagerank import (
    FAILURES_IN_A_ROW,
    FIRST_PAUSE_S,
    MAX_HOLD_S,
    MAX_PAUSE_S,
    Breaker,
    BreakerState,
)

pytestmark = pytest.mark.req("D4", "D15")


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES_IN_A_ROW):
        assert breaker.may_ask(now)
        breaker.failed(now)
    return breaker


def test_a_few_failures_do_not_open_it_and_a_success_forgives_them() -> None:
    breaker = Breaker()
    for _ in range(3):
        for _ in range(FAILURES_IN_A_ROW - 1):
            breaker.failed(0)
        breaker.succeeded()
    assert breaker.state(0) is BreakerState.CLOSED


def test_failures_in_a_row_open_it_for_a_pause() -> None:
    breaker = opened(now=100)
    just_before = 100 + FIRST_PAUSE_S - 0.001
    assert breaker.state(just_before) is BreakerState.OPEN
    assert not breaker.may_ask(just_before)


def test_after_the_pause_one_question_may_go_and_only_one() -> None:
    breaker = opened()
    assert breaker.state(FIRST_PAUSE_S) is BreakerState.HALF_OPEN
    assert breaker.may_ask(FIRST_PAUSE_S)
    assert not breaker.may_ask(FIRST_PAUSE_S)
    assert breaker.state(FIRST_PAUSE_S) is BreakerState.HALF_OPEN


def test_an_answer_to_the_probe_closes_it_and_forgets_the_past() -> None:
    breaker = opened()
    assert breaker.may_ask(FIRST_PAUSE_S)
    breaker.succeeded()
    assert breaker.state(FIRST_PAUSE_S) is BreakerState.CLOSED
    for _ in range(FAILURES_IN_A_ROW - 1):
        breaker.failed(FIRST_PAUSE_S)
    assert breaker.state(FIRST_PAUSE_S) is BreakerState.CLOSED
    breaker.failed(FIRST_PAUSE_S)
    assert breaker.state(2 * FIRST_PAUSE_S - 0.001) is BreakerState.OPEN
    assert breaker.state(2 * FIRST_PAUSE_S) is BreakerState.HALF_OPEN


def test_failed_probes_double_the_pause_up_to_a_limit() -> None:
    breaker, now = opened(), 0.0
    pauses = []
    for _ in range(40):
        started = now
        while not breaker.may_ask(now):
            now += FIRST_PAUSE_S
        pauses.append(now - started)
        breaker.failed(now)
    assert pauses[:4] == [FIRST_PAUSE_S * factor for factor in (1, 2, 4, 8)]
    assert max(pauses) == pauses[-1] == MAX_PAUSE_S


def test_a_probe_that_never_reports_does_not_block_for_ever() -> None:
    breaker = opened()
    assert breaker.may_ask(FIRST_PAUSE_S)
    assert not breaker.may_ask(2 * FIRST_PAUSE_S)
    assert breaker.may_ask(3 * FIRST_PAUSE_S)


def test_a_failure_of_an_older_question_does_not_prolong_the_pause() -> None:
    breaker = opened()
    breaker.failed(FIRST_PAUSE_S - 0.001)
    assert breaker.may_ask(FIRST_PAUSE_S)


def test_the_server_can_ask_for_a_pause_but_not_for_ten_years() -> None:
    breaker = Breaker()
    breaker.hold(0, 42)
    assert not breaker.may_ask(41.9)
    assert breaker.may_ask(42)
    breaker.succeeded()
    breaker.hold(100, 10 * 365 * 24 * 3600)
    assert not breaker.may_ask(100 + MAX_HOLD_S - 0.001)
    assert breaker.may_ask(100 + MAX_HOLD_S)


def test_a_pause_that_is_over_does_not_count_for_the_next() -> None:
    breaker = opened()
    assert breaker.may_ask(FIRST_PAUSE_S)
    breaker.succeeded()
    breaker.hold(FIRST_PAUSE_S, 1)
    assert breaker.may_ask(FIRST_PAUSE_S + 1)


def test_a_shorter_wish_does_not_cut_a_longer_pause() -> None:
    breaker = opened()
    breaker.hold(0, 1)
    assert not breaker.may_ask(FIRST_PAUSE_S - 0.001)
