import io
import os
import pty
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

import msgspec
import pytest

from gossamer.coordinator.summary import Summary
from gossamer.display import Outlet, summary_text
from gossamer.display.live import LiveDisplay
from gossamer.model import Event, EventKind, Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView

Screen = Callable[[str], list[str]]


class ScreenClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class CountedStream(io.StringIO):
    """Counts how often it is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        if text:
            self.writes.append(text)
        return super().write(text)


@pytest.fixture(autouse=True)
def _size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


@pytest.fixture
def clock() -> ScreenClock:
    return ScreenClock()


@pytest.fixture
def stream() -> CountedStream:
    return CountedStream()


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    """Yield both ends of a terminal."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    with os.fdopen(slave, "w") as stream:
        yield master, stream
    os.close(master)


def test_the_display_follows_the_crawl_in_its_place(
    stream: CountedStream,
    clock: ScreenClock,
    screen_of: Screen,
    snapshot: Snapshot,
    hosts: list[HostView],
    workers: list[WorkerView],
) -> None:
    with LiveDisplay(Outlet(stream), clock) as display:
        display.tick(snapshot, hosts, workers)
        before = screen_of(stream.getvalue())
        clock.now += 1
        display.tick(msgspec.structs.replace(snapshot, pages=3500, visits=3500), hosts, workers)
        after = screen_of(stream.getvalue())
    assert before[1].startswith("3,412 of 10,000 pages")
    assert after[1].startswith("3,500 of 10,000 pages")
    assert before[2:] == after[2:]
    assert after[2].endswith("3 workers, 202 MB")
    assert after[11].startswith("worker      pid")
    assert after[12].endswith("97%  on here.example"), "that is not the machine of this test"


def test_afterwards_the_summary_stands_in_its_place(
    stream: CountedStream,
    clock: ScreenClock,
    screen_of: Screen,
    snapshot: Snapshot,
    summary: Summary,
) -> None:
    with LiveDisplay(Outlet(stream), clock) as display:
        display.tick(snapshot, [])
        display.say("info", "finishing what is in progress")
        display.say("warning", "slow.example asks for patience", wait_s=250)
        display.close(summary)
    assert screen_of(stream.getvalue()) == [
        "gossamer: warning: slow.example asks for patience (wait_s=250)",
        *summary_text(summary).split("\n"),
    ]


def test_a_message_is_seen_at_once(
    stream: CountedStream, clock: ScreenClock, screen_of: Screen, snapshot: Snapshot
) -> None:
    with LiveDisplay(Outlet(stream), clock) as display:
        display.tick(snapshot, [])
        display.say("info", "finishing what is in progress; press Ctrl-C again to stop at once")
        assert any(line.startswith("finishing") for line in screen_of(stream.getvalue()))


def test_it_is_drawn_at_most_four_times_a_second_each_time_in_one_piece(
    stream: CountedStream, clock: ScreenClock, snapshot: Snapshot, hosts: list[HostView]
) -> None:
    with LiveDisplay(Outlet(stream), clock) as display:
        for number in range(1000):
            clock.now = number / 100
            display.tick(snapshot, hosts)
            display.say("warning", f"message {number}")
            display.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
        assert len(stream.writes) == 40
        assert not display.wants_events


def test_what_a_module_prints_goes_above_the_display_without_drawing_it_each_time(
    stream: CountedStream,
    terminal: tuple[int, TextIO],
    clock: ScreenClock,
    screen_of: Screen,
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal[1])
    with LiveDisplay(Outlet(stream), clock) as display:
        print("before the first tick")
        display.tick(snapshot, [])
        for number in range(100):
            print(f"page {number} [/]", "x" * 100)
        clock.now += 1
        display.tick(msgspec.structs.replace(snapshot, pages=3500, visits=3500), [])
        seen = screen_of(stream.getvalue())
        assert len(stream.writes) == 2
        print("after the last tick", end="")
    assert seen[0] == "before the first tick"
    assert seen[1:101] == [f"page {number} [/] {'x' * 100}" for number in range(100)]
    assert seen[102].startswith("3,500 of 10,000 pages")
    assert screen_of(stream.getvalue())[101:] == ["after the last tick"]


def test_a_module_that_prints_without_end_is_not_held_back_for_ever(
    stream: CountedStream,
    terminal: tuple[int, TextIO],
    clock: ScreenClock,
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal[1])

    def chatter() -> None:
        for _ in range(3000):
            print("x" * 100)

    with LiveDisplay(Outlet(stream), clock) as display:
        display.tick(snapshot, [])
        other = threading.Thread(target=chatter)
        other.start()
        other.join()
        assert stream.getvalue().count("x" * 100) > 2000
    assert stream.getvalue().count("x" * 100) == 3000


@pytest.mark.req("D19")
def test_hostile_words_neither_steer_the_terminal_nor_break_the_display(
    stream: CountedStream, clock: ScreenClock, screen_of: Screen, snapshot: Snapshot, hostile: str
) -> None:
    with LiveDisplay(Outlet(stream), clock) as display:
        display.say("error", hostile, title=hostile)
        display.tick(snapshot, [])
        # The screen refuses every sequence but those of the display itself.
        assert any(r"\x1b[2J" in line for line in screen_of(stream.getvalue()))
    assert "[red]x[/red] [/] :smile:" in screen_of(stream.getvalue())[0]


def test_a_stopped_terminal_does_not_stop_the_crawl(
    terminal: tuple[int, TextIO], clock: ScreenClock, snapshot: Snapshot
) -> None:
    master, slave = terminal
    # So that it is seen, not waited for, if something is written after all.
    os.set_blocking(slave.fileno(), False)
    with LiveDisplay(Outlet(slave), clock) as display:
        termios.tcflow(slave.fileno(), termios.TCOOFF)
        for _ in range(20):
            clock.now += 1
            display.tick(snapshot, [])
        termios.tcflow(slave.fileno(), termios.TCOON)
        clock.now += 1
        display.tick(snapshot, [])
        assert os.read(master, 65_536).decode().count("3,412 of 10,000 pages") == 1


def test_a_terminal_that_is_closed_does_not_stop_the_crawl(
    clock: ScreenClock, snapshot: Snapshot, summary: Summary
) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        outlet = Outlet(stream)
        with LiveDisplay(outlet, clock) as display:
            display.tick(snapshot, [])
            os.close(master)
            for _ in range(3):
                clock.now += 1
                display.tick(snapshot, [])
            display.close(summary)
        assert isinstance(outlet.failure, OSError)


def test_it_is_drawn_whatever_the_library_reads_from_the_environment(
    stream: CountedStream, clock: ScreenClock, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_INTERACTIVE", "0")
    with LiveDisplay(Outlet(stream), clock) as display:
        display.tick(snapshot, [])
        assert "3,412 of 10,000 pages" in stream.getvalue()


def test_a_crawl_that_fails_before_the_first_tick_has_said_why(
    stream: CountedStream, clock: ScreenClock
) -> None:
    with LiveDisplay(Outlet(stream), clock) as display:
        display.say("warning", "the store is locked")
    assert stream.getvalue() == "gossamer: warning: the store is locked\n"
