import time

import pytest

from gossamer.urls import fingerprint, normalise

SESSION = "9682993c8daa2c5497996114facdc805"


def print_of(text: str) -> str:
    url = normalise(text)
    assert url is not None
    return fingerprint(url)


@pytest.mark.req("D11", "D19")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # sessions in the path
        ("http://a.example/x;jsessionid=1A2B.node1", "http://a.example/x"),
        ("http://a.example/x;JSESSIONID=1A2B/y;v=1?q=1", "http://a.example/x/y;v=1?q=1"),
        ("http://a.example/x;v=1;jsessionid=1A2B?q", "http://a.example/x;v=1?q"),
        ("http://a.example/;jsessionid=1", "http://a.example/"),
        (
            "http://a.example/(S(lit3py55t21z5v55vlm25s55))/x.aspx",
            "http://a.example/x.aspx",
        ),
        ("http://a.example/w/(X(1)A(a-b)F(c_d)S(e))/x.aspx", "http://a.example/w/x.aspx"),
        # sessions in the query
        (f"http://a.example/?PHPSESSID={SESSION}", "http://a.example/"),
        (f"http://a.example/?phpsessid={SESSION}&id=1", "http://a.example/?id=1"),
        ("http://a.example/?id=1&CFID=17&CFTOKEN=ab-cd", "http://a.example/?id=1"),
        ("http://a.example/?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCL&x", "http://a.example/?x"),
        (f"http://a.example/?sid={SESSION}", "http://a.example/"),
        (f"http://a.example/?session_id={SESSION}", "http://a.example/"),
        # tracking
        ("http://a.example/x?utm_source=a&utm_medium=b&id=1", "http://a.example/x?id=1"),
        ("http://a.example/x?gclid=a&fbclid=b&UTM_Term=c", "http://a.example/x"),
        # order, repetition, emptiness
        ("http://a.example/x?b=2&a=1", "http://a.example/x?a=1&b=2"),
        ("http://a.example/x?a=1&a=1", "http://a.example/x?a=1"),
        ("http://a.example/x?&a&&", "http://a.example/x?a"),
        ("http://a.example/x?", "http://a.example/x"),
        # slashes, host
        ("http://a.example//x///y?q=//", "http://a.example/x/y?q=//"),
        ("http://a.example/x//", "http://a.example/x/"),
        ("http://a.example./x", "http://a.example/x"),
        ("http://a.example.:8080/x", "http://a.example:8080/x"),
    ],
)
def test_spellings_of_one_page_have_one_fingerprint(text: str, expected: str) -> None:
    assert print_of(text) == expected
    assert print_of(expected) == expected


@pytest.mark.req("D11")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/", "https://a.example/"),
        ("http://a.example/x", "http://a.example/X"),
        ("http://a.example/x", "http://a.example/x/"),
        ("http://a.example/", "http://a.example:8080/"),
        ("http://a.example/", "http://www.a.example/"),
        ("http://a.example/?a", "http://a.example/?a="),
        ("http://a.example/?a=1&a=2", "http://a.example/?a=2&a=1"),
        ("http://a.example/?a=1", "http://a.example/?A=1"),
        # these may name a story, a talk, a student
        ("http://a.example/story?sid=1", "http://a.example/story?sid=2"),
        ("http://a.example/?sid=08/03/21/1234567", "http://a.example/?sid=08/03/21/1234568"),
        ("http://a.example/talk?session=intro", "http://a.example/talk?session=end"),
        (
            "http://a.example/?sid=507f1f77bcf86cd799439011",
            "http://a.example/?sid=507f1f77bcf86cd799439012",
        ),
        # only whole names and values count
        (f"http://a.example/?sid={SESSION}/1", f"http://a.example/?sid={SESSION}/2"),
        ("http://a.example/?my_utm_source=1", "http://a.example/?my_utm_source=2"),
        ("http://a.example/?gclids=1", "http://a.example/?gclids=2"),
        ("http://a.example/?q=utm_source=1", "http://a.example/?q=utm_source=2"),
        ("http://a.example/wiki/S_(album)/x", "http://a.example/wiki/S_(song)/x"),
        ("http://a.example/(S(x))", "http://a.example/"),
    ],
)
def test_different_pages_have_different_fingerprints(one: str, other: str) -> None:
    assert print_of(one) != print_of(other)


@pytest.mark.req("D11")
@pytest.mark.parametrize("text", ["/a/.;jsessionid=1/b", "/a/..;jsessionid=1/b", "/.;jsessionid=1"])
def test_dropping_a_session_never_leaves_a_dot_segment(text: str) -> None:
    found = print_of(f"http://a.example{text}")
    assert normalise(found) == found


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "piece",
    [";jsessionid=", "/(S(a)", "/(", "(S(", "a&", "utm_&", "//", "sid=a&", f"sid={SESSION}", "A("],
)
def test_the_longest_urls_take_no_longer_than_their_length_explains(piece: str) -> None:
    for start in ("http://a.example/", "http://a.example/?sid="):
        url = normalise((start + piece * 8000)[:8192])
        assert url is not None
        started = time.process_time()
        fingerprint(url)
        assert time.process_time() - started < 0.5
