import io
import os

import msgspec
import pytest

from gossamer.coordinator.summary import Summary
from gossamer.display import Outlet, progress_line, summary_text
from gossamer.display.lines import EVENT_WORDS, OUTCOME_WORDS, ErrorsOnly, PlainLines
from gossamer.model import Event, EventKind, Outcome, Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView

STATUS = "27s  3,412 of 10,000 pages  128 pages/s  14 MB  8,112 waiting  16 in progress"


def test_a_line_every_few_seconds(
    snapshot: Snapshot, hosts: list[HostView], workers: list[WorkerView]
) -> None:
    error = io.StringIO()
    lines = PlainLines(Outlet(error))
    for second in range(27, 38):
        lines.tick(msgspec.structs.replace(snapshot, elapsed_s=float(second)), hosts, workers)
    written = error.getvalue().splitlines()
    assert written[0] == STATUS
    assert [line.split()[0] for line in written] == ["27s", "32s", "37s"]


def test_the_summary_comes_last(summary: Summary) -> None:
    error = io.StringIO()
    PlainLines(Outlet(error)).close(summary)
    assert error.getvalue() == f"\n{summary_text(summary)}\n"


@pytest.mark.req("C10")
def test_every_step_is_written_in_the_classic_words_on_standard_output() -> None:
    out, error = io.StringIO(), io.StringIO()
    lines = PlainLines(Outlet(error), events=Outlet(out))
    assert lines.wants_events
    lines.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
    lines.event(Event(EventKind.UNFETCHED, 1, "http://a.test/b", Outcome.NOT_FOUND))
    assert out.getvalue() == " 0   Fetched: http://a.test/\n 1   NotFound: http://a.test/b\n"
    assert error.getvalue() == ""


def test_steps_in_a_pipe_are_there_with_the_next_tick(snapshot: Snapshot) -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as pipe:
        lines = PlainLines(Outlet(None), events=Outlet(pipe))
        lines.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
        lines.tick(snapshot, [])
        assert os.read(read_end, 100) == b" 0   Fetched: http://a.test/\n"
    os.close(read_end)


def test_steps_are_not_wanted_when_not_asked_for_or_no_longer_read() -> None:
    assert not PlainLines(Outlet(io.StringIO())).wants_events
    closed = io.StringIO()
    closed.close()
    lines = PlainLines(Outlet(None), events=Outlet(closed))
    lines.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
    assert not lines.wants_events


@pytest.mark.req("D19")
def test_messages_and_steps_are_one_safe_line_each(hostile: str) -> None:
    out, error = io.StringIO(), io.StringIO()
    lines = PlainLines(Outlet(error), events=Outlet(out))
    lines.say("info", "going on", waiting=12)
    lines.say("warning", hostile, host="a.test")
    lines.event(Event(EventKind.OUTSIDE, 100_000, hostile, detail=hostile))
    written = error.getvalue().split("\n")
    assert written[0] == "gossamer: going on (waiting=12)"
    assert written[1].startswith(r"gossamer: warning: \x1b[2J")
    step, end = out.getvalue().split("\n")
    assert step.isprintable()
    assert len(step) < 300
    assert [written[2:], end] == [[""], ""]
    assert all(line.isprintable() for line in written)


def test_a_reader_that_sleeps_does_not_hold_up_the_crawl(snapshot: Snapshot) -> None:
    read_end, write_end = os.pipe()
    # So that what is written to a full pipe after all is kept back, not waited for.
    os.set_blocking(write_end, False)
    with os.fdopen(write_end, "w") as pipe:
        lines = PlainLines(Outlet(pipe), interval_s=0.0)
        for _ in range(2000):
            lines.tick(snapshot, [])
        assert set(os.read(read_end, 1_000_000).decode().splitlines()) == {STATUS}
        pipe.flush()
        os.set_blocking(read_end, False)
        with pytest.raises(BlockingIOError):
            os.read(read_end, 1)
    os.close(read_end)


def test_quiet_shows_errors_only(
    snapshot: Snapshot, hosts: list[HostView], summary: Summary
) -> None:
    error = io.StringIO()
    quiet = ErrorsOnly(Outlet(error))
    assert not quiet.wants_events
    quiet.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
    quiet.tick(snapshot, hosts)
    quiet.say("info", "begun")
    quiet.say("warning", "slow")
    quiet.say("error", "the disk is full", path="x")
    quiet.close(summary)
    assert error.getvalue() == "gossamer: error: the disk is full (path=x)\n"


URL = "http://a.test/"


@pytest.mark.req("C10")
def test_every_failure_has_a_word_of_its_own_that_fits_its_column() -> None:
    assert set(OUTCOME_WORDS) == set(Outcome) - {Outcome.FETCHED}
    assert set(EVENT_WORDS) == set(EventKind) - {EventKind.UNFETCHED}
    words = [*EVENT_WORDS.values(), *OUTCOME_WORDS.values()]
    assert all(1 <= len(word) <= 9 for word in words)
    # Only leaving the site has one word for two things: a link that does, and a redirect.
    assert sorted(words) == sorted([*set(words), "IgnExtrn"])


@pytest.mark.req("C10", "D19")
def test_a_link_that_is_no_url_cannot_steer_the_terminal() -> None:
    line = progress_line(Event(EventKind.OUTSIDE, 0, "javascript:\x1b[2J\r\n\u202e"))
    assert line == r" 0  IgnExtrn: javascript:\x1b[2J\r\n\u202e"


@pytest.mark.req("C10", "D19")
def test_a_trap_without_bottom_does_not_push_the_words_off_the_line() -> None:
    assert len(progress_line(Event(EventKind.FOUND, 1_000_000, URL))) < 100
