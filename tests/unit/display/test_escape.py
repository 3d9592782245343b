import json
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.display import printable
from gossamer.display.outlet import printable_json


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
