from gossamer.display.outlet import RateLimit


def test_the_first_is_at_once_and_the_next_after_the_span() -> None:
    feedback = RateLimit(1, 5.0)
    assert [now for now in range(13) if feedback.due(now)] == [0, 5, 10]


def test_several_may_come_together_but_no_more_than_that_in_any_span() -> None:
    feedback = RateLimit(4, 1.0)
    yes = [now / 10 for now in range(40) if feedback.due(now / 10)]
    assert yes[:4] == [0.0, 0.1, 0.2, 0.3]
    assert all(sum(start <= one < start + 1.0 for one in yes) <= 4 for start in yes)


def test_a_clock_that_is_set_back_silences_nothing() -> None:
    feedback = RateLimit(1, 5.0)
    assert feedback.due(1000.0)
    assert feedback.due(3.0)
