"""Looking soon again where there is much to do, and seldom where there is nothing."""

from gossamer.cluster.poll_interval import FIRST_S, LONGEST_S, PollInterval


def test_the_longer_nothing_is_found_the_rarer_are_the_looks() -> None:
    poll_interval = PollInterval()
    assert poll_interval.pause_s(found=True) == FIRST_S
    pauses = [poll_interval.pause_s(found=False) for _ in range(20)]
    assert pauses == sorted(pauses)
    assert pauses[0] > FIRST_S
    assert pauses[-1] == LONGEST_S
    assert poll_interval.pause_s(found=True) == FIRST_S
