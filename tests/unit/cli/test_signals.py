from gossamer.cli.signals import ECHO_S, SignalMeaning


def test_a_signal_that_comes_twice_at_once_counts_once() -> None:
    meaning = SignalMeaning()
    assert meaning.of(100.0) == "stop"
    assert meaning.of(100.0) == "nothing"
    assert meaning.of(99.9 + ECHO_S) == "nothing"
    assert meaning.of(100.0 + ECHO_S) == "quit", "counted from the first, whatever came between"
    assert meaning.of(100.1 + ECHO_S) == "quit"
