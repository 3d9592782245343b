import time

import pytest

from gossamer.model import Url
from gossamer.urls import MAX_URL_LENGTH, merge_slashes, normalise, resolve

PAGE = "http://example.org/foo/bar"


@pytest.mark.req("C8")
def test_the_classic_example_is_reached_with_merged_slashes() -> None:
    url = normalise("Http://CS50TSE.CS.Dartmouth.edu//index.html")
    assert url == "http://cs50tse.cs.dartmouth.edu//index.html"
    assert merge_slashes(url) == "http://cs50tse.cs.dartmouth.edu/index.html"


@pytest.mark.req("C8")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.ORG:80/a/./b/../c#top", "http://example.org/a/c"),
        ("https://example.org:443", "https://example.org/"),
        ("http://example.org/%7Euser/%e4%bd%a0", "http://example.org/~user/%E4%BD%A0"),
        ("http://example.org?x=%41%2f", "http://example.org/?x=A%2F"),
    ],
)
def test_different_spellings_become_one(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.req("C8")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/Case/Of/Path",
        "http://example.org/?b=2&a=1&b=2",
        "http://example.org/?",
        "http://example.org//double///slashes/",
        "http://example.org/%2F%3F%23",
        "http://example.org/a+b?c+d",
        "http://example.org./",
    ],
)
def test_what_may_carry_meaning_stays(url: str) -> None:
    assert normalise(url) == url


@pytest.mark.req("C8")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%4%31", "%4%31"),  # not "%41", which is "A"
        ("%%34%31", "%%341"),
        ("%%41", "%%41"),
        ("%2%65", "%2%65"),  # not "%2e", which is a dot segment
        ("%%7e", "%~"),  # "~" is no digit: nothing new comes of it
        ("%4%67", "%4g"),
        ("%4%31%32", "%4%312"),
        ("%a%4a%4A", "%aJJ"),
        ("%zz%", "%zz%"),
    ],
)
def test_a_stray_percent_sign_never_becomes_an_escape(text: str, expected: str) -> None:
    url = normalise(f"http://example.org/{text}")
    assert url == f"http://example.org/{expected}"
    assert normalise(url) == url


@pytest.mark.req("C8")
def test_every_byte_has_one_escaped_spelling() -> None:
    unreserved = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    for byte in range(256):
        expected = chr(byte) if chr(byte) in unreserved else f"%{byte:02X}"
        high, low = f"{byte >> 4:x}", f"{byte & 15:x}"
        for escape in {f"%{a}{b}" for a in (high, high.upper()) for b in (low, low.upper())}:
            url = f"http://example.org/x{escape}?y{escape}"
            assert normalise(url) == f"http://example.org/x{expected}?y{expected}"


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://user:secret@example.org/", "http://example.org/"),
        ("https://user%40home:%3a@example.org:8443/@x", "https://example.org:8443/@x"),
        ("http://example.org/mail@example.org", "http://example.org/mail@example.org"),
        ("http://example.org/?to=a@example.org", "http://example.org/?to=a@example.org"),
    ],
)
def test_credentials_are_left_behind(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.req("D13", "D19")
@pytest.mark.parametrize("scheme", ["javascript", "data", "mailto", "tel", "blob", "about", "ftp"])
@pytest.mark.parametrize("spelling", ["{0}:x", " {0}:x", "{0}:x#y", "\t{0}:\nx", "{0}://h/x"])
def test_only_http_and_https_are_links(scheme: str, spelling: str) -> None:
    assert resolve(spelling.format(scheme), PAGE) is None
    assert resolve(spelling.format(scheme.upper()), PAGE) is None


@pytest.mark.req("D19")
def test_a_url_of_the_greatest_length_is_kept_and_a_longer_one_dropped() -> None:
    longest = "http://example.org/".ljust(MAX_URL_LENGTH, "x")
    assert normalise(longest) == longest
    assert normalise(longest + "x") is None
    assert resolve(longest + "x", PAGE) is None


@pytest.mark.req("D19")
def test_length_counts_after_normalising() -> None:
    long_fragment = "http://example.org/#" + "x" * 10_000
    assert normalise(long_fragment) == "http://example.org/"
    assert normalise("http://example.org/" + "%41" * 8000) == "http://example.org/" + "A" * 8000
    assert normalise("http://example.org/" + "é" * 3000) is None


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "piece", ["x", "../", "a/../", "%", "%41", "%4%31", "\t", "é", "@", ".", "[", "//", "\ud800"]
)
def test_huge_text_is_answered_at_once(piece: str) -> None:
    huge = "http://example.org/" + piece * (2_000_000 // len(piece))
    started = time.process_time()
    for length in (len(huge), 32_000, 8_000):
        normalise(huge[:length])
        resolve(huge[:length], PAGE)
        resolve("x", huge[:length])
    assert time.process_time() - started < 2


@pytest.mark.req("C9")
def test_a_link_resolves_against_its_page() -> None:
    assert resolve("../baz?q#part", PAGE) == "http://example.org/baz?q"
    assert resolve("", PAGE) == PAGE
    assert resolve("//other.example/x", "https://example.org/") == "https://other.example/x"


@pytest.mark.req("C9")
def test_a_query_is_escaped_in_the_encoding_of_its_page_and_a_path_in_utf8() -> None:
    assert resolve("/é?é", PAGE, "windows-1252") == "http://example.org/%C3%A9?%E9"
    assert resolve("/é?é", PAGE) == "http://example.org/%C3%A9?%C3%A9"


@pytest.mark.req("C8")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/b//c///d//?x//y", "http://a.example/b/c/d/?x//y"),
        ("http://a.example//", "http://a.example/"),
        ("http://a.example/?//", "http://a.example/?//"),
        ("http://a.example//?", "http://a.example/?"),
        ("http://[::1]:8080//x", "http://[::1]:8080/x"),
    ],
)
def test_merging_slashes_touches_the_path_alone(url: str, expected: str) -> None:
    assert merge_slashes(Url(url)) == expected
