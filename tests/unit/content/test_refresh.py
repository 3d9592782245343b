"""What a refresh says: the cases of the web platform's own tests, and whatever else comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.links import Refresh, parse_refresh


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", (0, "")),
        ("0; url=x", (0, "x")),
        ("  1  ;  URL  =  x  ", (1, "x")),
        ("1,url=x", (1, "x")),
        ("1 url=x", (1, "x")),
        ("1;x", (1, "x")),
        ("1;url", (1, "url")),
        ("1;url x", (1, "url x")),
        ("1;urlx=y", (1, "urlx=y")),
        ("1; url='x' y", (1, "x")),
        ('1; url="x', (1, "x")),
        ("1; 'x'y", (1, "x")),
        ("1; url=x; url=y", (1, "x; url=y")),
        (".9; url=x", (0, "x")),
        ("1.9.9; url=x", (1, "x")),
        ("99999999999999999999; url=x", (999_999_999, "x")),
        ("", None),
        ("x", None),
        ("-1; url=x", None),
        ("+1; url=x", None),
        ("1x", None),
        ("1/x", None),
        ("; url=x", None),
        ("\u0661; url=x", None),
    ],
)
def test_a_refresh_is_read_as_browsers_do(text: str, expected: tuple[int, str] | None) -> None:
    assert parse_refresh(text) == (None if expected is None else Refresh(*expected))


@given(st.text(st.sampled_from("0129.;, \t\n'\"urlURL=x/"), max_size=30))
def test_whatever_it_says_it_is_a_number_and_a_text(text: str) -> None:
    found = parse_refresh(text)
    assert found is None or (found.seconds >= 0 and found.target in text)
