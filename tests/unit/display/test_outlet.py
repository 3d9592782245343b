import errno
import io
import json
import os
import pty
import subprocess
import sys
import termios
import unicodedata
from pathlib import Path
from typing import TextIO

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.display import Outlet, printable
from gossamer.display.outlet import MAX_REMEMBERED, Messages, RateLimit, printable_json, sentence

CHILD = """
import sys
from pathlib import Path
from gossamer.display import Outlet
outlet = Outlet(sys.{stream})
sys.stdin.read()
for number in range(1000):
    outlet.line("x" * 100)
    outlet.write("held back")
Path(sys.argv[1]).write_text(type(outlet.failure).__name__)
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_went_away_does_not_end_the_crawl(stream: str, tmp_path: Path) -> None:
    written = tmp_path / "written"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(stream=stream), str(written)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    gone: TextIO | None = getattr(child, stream)
    assert gone is not None
    gone.close()
    other = child.stderr if stream == "stdout" else child.stdout
    assert child.stdin is not None
    assert other is not None
    child.stdin.close()
    with other:
        complaints = other.read()
    # The interpreter itself ends with 120 when it cannot flush a standard stream.
    assert (child.wait(), complaints) == (0, "")
    assert written.read_text() == "BrokenPipeError"


def test_after_a_failure_nothing_is_written_and_it_is_remembered() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        outlet.line("heard")
        assert os.read(read_end, 100) == b"heard\n"
        os.close(read_end)
        outlet.line("not heard")
        first = outlet.failure
        assert isinstance(first, BrokenPipeError)
        outlet.line("not even tried")
        assert outlet.failure is first
        assert not outlet.ready()


def test_a_terminal_that_was_closed_is_no_reason_to_fail() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        os.close(master)
        outlet = Outlet(stream)
        outlet.line("x")
        assert isinstance(outlet.failure, OSError)
        assert outlet.failure.errno == errno.EIO


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_is_no_reason_to_fail() -> None:
    with Path("/dev/full").open("w") as stream:
        outlet = Outlet(stream)
        outlet.line("x")
        assert isinstance(outlet.failure, OSError)
        assert outlet.failure.errno == errno.ENOSPC


def test_a_stream_that_does_not_wait_loses_text_and_goes_on() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        for _ in range(50):
            outlet.write("x" * 50)
            outlet.line("x" * 9000)
        assert outlet.failure is None
        os.set_blocking(read_end, False)
        while len(os.read(read_end, 65_536)) == 65_536:
            pass
        outlet.line("here again")
        assert os.read(read_end, 1_000_000).endswith(b"here again\n")
    os.close(read_end)


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_no_stream_and_a_closed_one_are_silent(stream: io.StringIO | None) -> None:
    if stream is not None:
        stream.close()
    outlet = Outlet(stream)
    outlet.line("x")
    outlet.flush()
    assert not outlet.isatty()
    assert not outlet.ready()


def test_a_character_that_the_stream_cannot_write_is_replaced() -> None:
    stored = io.BytesIO()
    outlet = Outlet(io.TextIOWrapper(stored, encoding="ascii"))
    outlet.line("Bücher…")
    assert stored.getvalue() == b"B?cher?\n"
    assert outlet.failure is None


def test_a_stopped_terminal_is_not_ready_until_it_goes_on() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        outlet = Outlet(stream)
        assert outlet.ready()
        termios.tcflow(slave, termios.TCOOFF)
        assert not outlet.ready()
        termios.tcflow(slave, termios.TCOON)
        assert outlet.ready()
    os.close(master)


def test_a_pipe_that_nobody_reads_is_not_ready_when_it_is_full() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        assert outlet.ready()
        try:
            while os.write(write_end, b"x" * 4096):
                pass
        except BlockingIOError:
            pass
        assert not outlet.ready()
    os.close(read_end)


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a title", "a title"),
        ("Bücher · 本", "Bücher · 本"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("one\r\ntwo\tthree", r"one\r\ntwo\tthree"),
        ("\x9b31m", r"\x9b31m"),
        ("gpj.\u202eexe", r"gpj.\u202eexe"),
        ("\u2066\u200b\u2028\ud800\U000e0001", r"\u2066\u200b\u2028\ud800\U000e0001"),
        ("[red]markup[/red]", "[red]markup[/red]"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.req("D19")
@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=300))
@settings(max_examples=200, deadline=None)
def test_nothing_that_steers_a_terminal_gets_through(text: str) -> None:
    shown = printable(text, limit=100)
    assert all(one == " " or unicodedata.category(one)[0] not in "CZ" for one in shown)
    assert len(shown) <= 10 * 100


def test_long_text_is_cut() -> None:
    assert printable("x" * 100, limit=100) == "x" * 100
    assert printable("x" * 101, limit=100) == "x" * 99 + "…"


@pytest.mark.req("D19")
@given(st.text(st.characters(codec="utf-8"), max_size=100))
@settings(max_examples=200, deadline=None)
def test_json_keeps_its_value_and_steers_nothing(text: str) -> None:
    for encoded in (msgspec.json.encode({text: text}), json.dumps({text: text}).encode()):
        shown = printable_json(encoded)
        assert shown.decode().isprintable()
        assert json.loads(shown) == {text: text}


@pytest.mark.req("D19")
@pytest.mark.parametrize("one", ["\x1b", "\x7f", "\x9b", "\u202e", "\u2028", "\U000e0041", "\r\n"])
def test_controls_in_json_are_escapes(one: str) -> None:
    assert printable_json(msgspec.json.encode(one)).decode().isascii()


def test_fields_follow_the_message() -> None:
    assert sentence("robots.txt is missing", {}) == "robots.txt is missing"
    assert (
        sentence("it is slow", {"host": "a.test", "tries": 3, "took": 0.5})
        == "it is slow (host=a.test, tries=3, took=0.5)"
    )


@pytest.mark.req("D19")
def test_a_message_is_one_safe_line(hostile: str) -> None:
    text = sentence(hostile, {"title": hostile})
    assert text.isprintable()
    assert "[red]x[/red]" in text


def test_a_message_that_repeats_itself_takes_one_place() -> None:
    messages = Messages()
    for _ in range(1200):
        messages.add("warning", "again")
    messages.add("info", "something else")
    assert [str(one) for one in messages.latest(3)] == [
        "warning: again (1,200 times)",
        "something else",
    ]


def test_only_what_is_serious_is_written_at_the_end_and_what_was_forgotten_is_counted() -> None:
    messages = Messages()
    messages.add("info", "begun")
    for number in range(MAX_REMEMBERED + 5):
        messages.add("error", f"failure {number}")
        messages.add("error", f"failure {number}")
    for number in range(MAX_REMEMBERED):
        messages.add("info", f"step {number}")
    written = list(messages.serious())
    assert written[0] == "earlier warnings not shown: 5"
    assert written[1] == "error: failure 5 (2 times)"
    assert written[-1] == f"error: failure {MAX_REMEMBERED + 4} (2 times)"


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
