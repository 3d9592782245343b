import io
import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.coordinator.summary import Summary
from gossamer.display import Outlet
from gossamer.display.jsonlog import JsonLog, LogLevel
from gossamer.model import Event, EventKind, Snapshot
from gossamer.stores.crawl_views import HostView

NOW = 1_700_000_000.25


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def log(stream: io.StringIO, least: LogLevel = "info") -> JsonLog:
    return JsonLog(Outlet(stream), lambda: NOW, least)


def test_quiet_leaves_only_errors(snapshot: Snapshot, summary: Summary) -> None:
    stream = io.StringIO()
    observer = log(stream, "error")
    assert not observer.wants_events
    observer.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
    observer.tick(snapshot, [])
    observer.say("warning", "slow")
    observer.say("error", "the disk is full")
    observer.close(summary)
    assert [line["message"] for line in written(stream)] == ["the disk is full"]


@pytest.mark.req("D19")
@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=200))
@example("\x1b\x7f\x9b\u202e\ud800")
@settings(max_examples=200, deadline=None)
def test_a_line_is_printable_ascii_and_says_exactly_what_was_said(text: str) -> None:
    stream = io.StringIO()
    log(stream).say("info", text, title=text)
    line = stream.getvalue()
    assert line.endswith("\n")
    assert line[:-1].isascii()
    assert line[:-1].isprintable()
    # Python joins two lone surrogates in a row into the character that they stand for.
    same = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert written(stream)[0]["title"] == same


def test_what_is_no_number_in_json_is_null_and_text_is_bounded(
    summary: Summary, snapshot: Snapshot, hosts: list[HostView]
) -> None:
    stream = io.StringIO()
    observer = log(stream)
    observer.say("info", "x" * 100_000, rate=math.nan)
    host = msgspec.structs.replace(hosts[0], next_in_s=math.inf)
    observer.close(msgspec.structs.replace(summary, slowest_hosts=(host,)))
    message, last = written(stream)
    assert message["rate"] is None
    assert len(message["message"]) == 4096
    assert last["slowest_hosts"][0]["next_in_s"] is None


def test_a_field_cannot_pass_for_the_time_or_the_event() -> None:
    stream = io.StringIO()
    log(stream).say("info", "x", time="yesterday", event="summary")
    assert written(stream)[0]["event"] == "message"
    assert written(stream)[0]["time"].startswith("2023-")


@pytest.mark.req("D19")
def test_no_control_character_is_written() -> None:
    stream = io.StringIO()
    log(stream).say("info", "a\x7fb\x9bc\u202ed\x1be", host="\x7f")
    line = stream.getvalue()
    assert line.rstrip("\n").isprintable()
    assert written(stream)[0]["message"] == "a\x7fb\x9bc\u202ed\x1be"
