"""When a process of a shared crawl looks again."""

from gossamer.control.cluster.pulse import LONGEST_S, SHORTEST_S, Pulse


def test_it_looks_again_soon_where_something_was_found() -> None:
    pulse = Pulse()

    assert [pulse.pause_s(found=True) for _ in range(3)] == [SHORTEST_S] * 3


def test_it_looks_ever_more_seldom_where_nothing_is_but_never_gives_up() -> None:
    pulse = Pulse(0.01, 0.05)
    pulse.pause_s(found=True)

    assert [pulse.pause_s(found=False) for _ in range(5)] == [0.02, 0.04, 0.05, 0.05, 0.05]


def test_it_begins_slowly_and_is_quick_again_after_a_find() -> None:
    pulse = Pulse()

    assert pulse.pause_s(found=False) == LONGEST_S
    assert pulse.pause_s(found=True) == SHORTEST_S
