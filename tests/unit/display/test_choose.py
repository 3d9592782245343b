import io
import json
import logging
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

import pytest

from gossamer.coordinator.summary import Summary
from gossamer.display import open_observer
from gossamer.model import Event, EventKind, Snapshot

Screen = Callable[[str], list[str]]

CRAWL = """
import os, sys
from gossamer.model import Snapshot
from gossamer.coordinator.summary import Summary
from gossamer.display import open_observer
last = Snapshot(
    waiting=1, in_progress=2, finished=3, pages=3, visits=3, bytes=4, outcomes={}, hosts=1,
    elapsed_s=1.0, pages_per_s=3.0, ended_by=None, max_pages=10, max_bytes=100,
)
with open_observer(sys.stdout, sys.stderr, os.environ) as observer:
    observer.tick(last, [])
    print("a module's line")
    ending = input()
    if ending == "raise":
        raise RuntimeError("the crawl is broken")
    if ending == "interrupt":
        raise KeyboardInterrupt
    observer.close(Summary(snapshot=last, ended_by="complete", directory="somewhere"))
print("the shell's prompt")
"""


@pytest.mark.parametrize(
    ("options", "terminal", "style"),
    [
        ({}, True, "LiveDisplay"),
        ({}, False, "PlainLines"),
        ({"verbose": True}, True, "PlainLines"),
        ({"verbose": True}, False, "PlainLines"),
        ({"quiet": True}, True, "ErrorsOnly"),
        ({"quiet": True}, False, "ErrorsOnly"),
        ({"log_format": "json"}, True, "JsonLog"),
        ({"log_format": "json", "verbose": True}, False, "JsonLog"),
        ({"log_format": "json", "quiet": True}, False, "JsonLog"),
    ],
)
def test_the_style_follows_from_the_options_and_the_terminal(
    options: dict[str, Any], terminal: bool, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = io.StringIO()
    monkeypatch.setattr(error, "isatty", lambda: terminal)
    with open_observer(io.StringIO(), error, {"TERM": "xterm"}, **options) as observer:
        assert type(observer).__name__ == style
        assert observer.wants_events is bool(options.get("verbose"))


@pytest.mark.parametrize(
    ("term", "moves_cursor"), [("xterm", True), ("dumb", False), ("unknown", False), ("", False)]
)
def test_a_simple_terminal_gets_lines(
    term: str, moves_cursor: bool, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        with open_observer(None, stream, os.environ) as observer:
            observer.tick(snapshot, [])
        sent = os.read(master, 65_536).decode()
    os.close(master)
    assert ("\x1b" in sent) is moves_cursor
    assert "3,412 of 10,000 pages" in sent


def test_a_pipe_gets_no_escape_sequence_whatever_the_environment_says(
    snapshot: Snapshot, summary: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    error = io.StringIO()
    with open_observer(None, error, os.environ) as observer:
        observer.tick(snapshot, [])
        observer.close(summary)
    assert "\x1b" not in error.getvalue()


def test_words_for_every_step_go_to_standard_output_and_the_rest_to_standard_error(
    snapshot: Snapshot,
) -> None:
    out, error = io.StringIO(), io.StringIO()
    with open_observer(out, error, {}, verbose=True) as observer:
        observer.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
        observer.tick(snapshot, [])
    assert out.getvalue() == " 0   Fetched: http://a.test/\n"
    assert error.getvalue().startswith("27s  3,412 of 10,000 pages")


def test_a_log_for_machines_has_nothing_else_in_it(snapshot: Snapshot, summary: Summary) -> None:
    error = io.StringIO()
    with open_observer(None, error, {}, log_format="json", verbose=True) as observer:
        logging.getLogger("some.library").warning("two\nlines")
        observer.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
        observer.tick(snapshot, [])
        observer.close(summary)
    events = [json.loads(line)["event"] for line in error.getvalue().splitlines()]
    assert events == ["message", "fetched", "progress", "summary"]


@pytest.mark.parametrize(
    ("ending", "code", "seen"),
    [
        ("close", 0, "Crawled 3 pages"),
        ("raise", 1, "RuntimeError: the crawl is broken"),
        ("interrupt", -signal.SIGINT, "KeyboardInterrupt"),
        ("kill", -signal.SIGKILL, "3 of 10 pages"),
    ],
)
def test_the_terminal_is_in_order_however_the_crawl_ends(
    ending: str, code: int, seen: str, screen_of: Screen
) -> None:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    child = subprocess.Popen(
        [sys.executable, "-c", CRAWL],
        stdin=subprocess.PIPE,
        stdout=slave,
        stderr=slave,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
    )
    assert child.stdin is not None
    sent = b""
    while b"3 of 10 pages" not in sent:
        sent += os.read(master, 65_536)
    if ending == "kill":
        child.kill()
    child.communicate(ending.encode() + b"\n")
    assert child.returncode == code
    after = termios.tcgetattr(slave)
    os.close(slave)
    sent += read_to_the_end(master)
    os.close(master)

    assert after == before
    text = sent.decode().replace("\r\n", "\n")
    hidden, alternate = "\x1b[?25l", "\x1b[?1049h"
    assert (hidden in text, alternate in text) == (False, False)
    screen = screen_of(text)
    assert any(seen in line for line in screen)
    if ending != "kill":
        assert screen[0] == "a module's line"
        assert not any("3 of 10 pages" in line for line in screen)
    if ending == "close":
        assert screen[-1] == "the shell's prompt"


def read_to_the_end(terminal: int) -> bytes:
    read = b""
    while True:
        try:
            more = os.read(terminal, 65_536)
        except OSError:  # What Linux says when nobody has the terminal open any more.
            return read
        if not more:
            return read
        read += more
