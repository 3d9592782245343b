"""How one rule of robots.txt matches."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model import Url
from gossamer.policy.robots import RobotsRule, read_rule, rule_targets

relaxed = settings(deadline=None, max_examples=200)


def rule(path: str, *, allows: bool = False) -> RobotsRule:
    read = read_rule(allows, path.encode(), 1)
    assert read is not None
    return read


def matches(path: str, url: str) -> bool:
    return any(map(rule(path).matches, rule_targets(Url(f"http://a.test{url}"))))


@pytest.mark.parametrize(
    ("path", "url", "expected"),
    [
        # a plain path is a prefix, and case counts
        ("/a", "/a", True),
        ("/a", "/abc", True),
        ("/a", "/A", False),
        ("/a/", "/a", False),
        # stars and the dollar
        ("/*", "/", True),
        ("*", "/a", True),
        ("*.gif$", "/a.gif", True),
        ("/a*", "/a", True),
        ("/a*b", "/ab", True),
        ("/a*b$", "/abcb", True),
        ("/a*b$", "/abc", False),
        ("/a*ba$", "/aba", True),
        ("/a*aba$", "/aba", False),  # what the first piece took is taken
        ("/*aa*aa", "/aaa", False),
        ("/*aa*aa", "/aaaa", True),
        ("/a***b", "/axb", True),
        ("/$", "/", True),
        ("/$", "/a", False),
        ("/a$b", "/a$b", True),  # only at the end it is special
        ("/a$", "/a$", False),
        ("/a*$", "/abc", True),
        # escapes
        ("/a%3cd", "/a<d", True),
        ("/a<d", "/a%3Cd", True),
        ("/a b", "/a%20b", True),
        ("/%7Ejoe/", "/~joe/", True),
        ("/~joe/", "/%7ejoe/", True),
        ("/a%2Fb", "/a/b", False),  # in a path, an escaped slash is no delimiter
        ("/a/b", "/a%2Fb", False),
        ("/a%2fb", "/a%2Fb", True),
        ("/a%3Fb", "/a?b", False),
        ("/a?b=%2F", "/a?b=/", True),  # in a query it is data either way
        ("/a?b=/", "/a?b=%2f", True),
        ("/*b=%2F", "/a?b=%2Fc", True),  # the question mark hides in the star
        ("/*b=/", "/a?b=%2Fc", True),
        ("/*?b=*%2F", "/a?b=1/", True),
        ("/a%2541", "/aA", False),  # unescaped once, not twice
        ("/a%252F", "/a%2F", False),
        ("/a%25", "/a%25", True),
        ("/100%", "/100%", True),  # no escape at all
        ("/%zz", "/%zz", True),
        ("/a%2Ab", "/a*b", True),
        ("/a%2Ab", "/aXb", False),
        ("/caf\u00e9", "/caf%C3%A9", True),
        ("/caf\u00e9", "/caf%E9", False),
    ],
)
def test_match(path: str, url: str, expected: bool) -> None:
    assert matches(path, url) is expected


@pytest.mark.parametrize("path", [b"", b"private/", b"http://a.test/private/", b"?x", b"\xff"])
def test_a_path_outside_the_grammar_is_no_rule(path: bytes) -> None:
    assert read_rule(False, path, 1) is None


@pytest.mark.parametrize(
    ("path", "octets"),
    [("/a", 2), ("/a*", 3), ("/a$", 3), ("/**b", 4), ("/%62", 2), ("/%E3%83%84", 10), ("/ツ", 10)],
)
def test_the_length_counts_octets_as_they_are_compared(path: str, octets: int) -> None:
    assert rule(path).octets == octets


@pytest.mark.req("F4")
@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"/private/", "Disallow: /private/ (line 7)"),
        ("/ü*$".encode(), "Disallow: /ü*$ (line 7)"),
        (b"/\x1b]0;x\x07\xff", "Disallow: /\\x1b]0;x\\x07\ufffd (line 7)"),
        ("/\u202e".encode(), "Disallow: /\\u202e (line 7)"),
    ],
)
def test_a_rule_names_itself_and_is_safe_to_show(written: bytes, text: str) -> None:
    assert str(read_rule(False, written, 7)) == text


def test_a_huge_rule_is_shown_in_part() -> None:
    assert len(str(read_rule(True, b"/" + b"a" * 500_000, 1))) < 250


@relaxed
@given(st.text("/ab*", max_size=12), st.booleans(), st.text("/ab", max_size=20))
def test_matching_agrees_with_the_definition(path: str, anchored: bool, url: str) -> None:
    """A star is any characters and the dollar is the end: what a regular expression would say."""
    expected = re.match(re.escape("/" + path).replace(r"\*", ".*") + "$" * anchored, "/" + url)
    assert matches("/" + path + "$" * anchored, "/" + url) is bool(expected)


@relaxed
@given(st.text(max_size=30), st.data())
def test_an_escape_is_its_character(path: str, data: st.DataObject) -> None:
    """Whichever octets of the rule or the URL are escaped, the rule matches its own path."""
    octets = re.sub(r"[*$#%/?\s]", "x", path).encode("utf-8", "replace")

    def some_escaped() -> str:
        chosen = data.draw(st.lists(st.booleans(), min_size=len(octets), max_size=len(octets)))
        return "/" + "".join(
            f"%{octet:02x}" if escape or octet > 0x7F else chr(octet)
            for octet, escape in zip(octets, chosen, strict=True)
        )

    assert matches(some_escaped(), some_escaped())


def cpu_seconds(hostile: RobotsRule, length: int) -> float:
    target = b"/" + b"a" * length
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(200):
            assert not hostile.matches(target)
        best = min(best, time.process_time() - started)
    return best


def test_stars_do_not_multiply_the_work() -> None:
    """Backtracking over 30 stars would take longer than anybody lives."""
    hostile = rule("/" + "*a" * 30 + "*b")
    assert cpu_seconds(hostile, 8_000) < 6 * cpu_seconds(hostile, 4_000) + 0.01
