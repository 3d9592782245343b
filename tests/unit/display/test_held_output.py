import io
import os
import pty
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest

from gossamer.display.live import MAX_HELD, HeldOutput, hold_output


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        yield stream
    os.close(master)


def nothing() -> None:
    pass


def test_what_is_printed_to_a_terminal_waits_line_by_line(
    terminal: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    held = HeldOutput()
    with hold_output(held, nothing):
        print("one")
        print("two, not", end="", flush=True)
        assert held.take() == "one\n"
        print(" finished", file=sys.stderr)
        assert held.take() == "two, not finished\n"
        print("the rest", end="")
        assert held.take() == ""
        assert held.take(everything=True) == "the rest"
        assert sys.stdout.isatty()
        assert sys.stdout.fileno() == terminal.fileno()
        assert sys.stdout.encoding == terminal.encoding
        assert sys.stdout.buffer is terminal.buffer
    assert sys.stdout is terminal


def test_a_file_gets_what_is_printed_at_once(
    terminal: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = io.StringIO()
    monkeypatch.setattr(sys, "stdout", results)
    monkeypatch.setattr(sys, "stderr", None)
    held = HeldOutput()
    with hold_output(held, nothing):
        print("a result")
        assert sys.stderr is None
    assert results.getvalue() == "a result\n"
    assert held.take(everything=True) == ""


def test_what_is_held_back_stays_bounded(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    held = HeldOutput()
    released: list[int] = []
    with hold_output(held, lambda: released.append(len(held.take()))):
        for _ in range(5 * MAX_HELD):
            sys.stdout.write("x")
    assert released == [MAX_HELD] * 5


def test_streams_come_back_after_an_exception(
    terminal: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    with pytest.raises(KeyError), hold_output(HeldOutput(), nothing):
        raise KeyError
    assert sys.stdout is terminal
