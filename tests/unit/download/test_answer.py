import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.download.answer import BodyUse, HeaderVerdict, judge
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Cause, Headers, Url
from gossamer.policy.size_limits import DRAIN_BYTES

OPTIONS = FetchOptions(max_body_bytes=500_000)
URL = Url("http://a.test/dir/page")


def verdict(status: int, *fields: tuple[str, str], accept: Accept = Accept.PAGE) -> HeaderVerdict:
    return judge(URL, status, Headers(fields), accept, OPTIONS)


@pytest.mark.req("D8")
def test_a_page_is_kept() -> None:
    assert verdict(200, ("content-type", "text/html")) == HeaderVerdict(
        BodyUse.KEEP, max_bytes=500_000
    )
    assert verdict(200) == HeaderVerdict(BodyUse.KEEP, max_bytes=500_000)
    assert len(verdict(200, ("content-encoding", "gzip")).decoders) == 1


@pytest.mark.req("D8")
def test_an_image_is_refused_by_its_type_however_small() -> None:
    found = verdict(200, ("content-type", "image/png"), ("content-length", "1"))
    assert (found.use, found.cause) == (BodyUse.REFUSE, Cause.UNWANTED_TYPE)
    assert "image/png" in found.detail


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    ("length", "use"),
    [
        ("500000", BodyUse.KEEP),
        ("500000, 500000", BodyUse.KEEP),
        ("500001", BodyUse.REFUSE),
        ("9" * 60_000, BodyUse.REFUSE),
    ],
)
def test_a_length_over_the_limit_is_refused_from_the_header(length: str, use: BodyUse) -> None:
    found = verdict(200, ("content-length", length))
    assert found.use is use
    assert found.cause is (Cause.BODY_TOO_LARGE if use is BodyUse.REFUSE else None)


def test_a_robots_txt_may_be_of_any_type_and_announce_any_length() -> None:
    fields = (("content-type", "application/octet-stream"), ("content-length", "9" * 30))
    assert verdict(200, *fields, accept=Accept.ANYTHING).use is BodyUse.KEEP


@pytest.mark.req("D19")
@pytest.mark.parametrize("coding", ["foo", "gzip, gzip, gzip"])
@pytest.mark.parametrize("accept", list(Accept))
def test_an_unknown_coding_is_refused(coding: str, accept: Accept) -> None:
    found = verdict(200, ("content-encoding", coding), accept=accept)
    assert (found.use, found.cause) == (BodyUse.REFUSE, Cause.BAD_CODING)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "http://a.test/b"),
        ("b", "http://a.test/dir/b"),
        ("//b.test/x", "http://b.test/x"),
        ("https://b.test", "https://b.test/"),
        ("?q=1", "http://a.test/dir/page?q=1"),
        ("/a b#frag", "http://a.test/a%20b"),
        ("/b\u00c3\u00bccher", "http://a.test/b%C3%BCcher"),  # UTF-8 bytes, read as latin-1
        ("/b\u00fccher", "http://a.test/b%C3%BCcher"),  # latin-1 bytes
        ("http://user:secret@b.test/", "http://b.test/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("", "http://a.test/dir/page"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_to_its_target_in_normal_form(
    location: str, target: str, status: int
) -> None:
    found = verdict(status, ("location", location))
    assert (found.use, found.cause, found.target) == (BodyUse.DRAIN, None, target)


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "locations",
    [
        [],
        ["javascript:alert(1)"],
        ["data:text/html,x"],
        ["file:///etc/passwd"],
        ["ftp://b.test/"],
        ["http://"],
        ["http://a b/"],
        ["/" + "a" * 9000],
        ["/one", "/two"],
    ],
)
def test_a_redirect_to_nowhere_is_unusable(locations: list[str]) -> None:
    found = verdict(302, *(("location", location) for location in locations))
    assert (found.cause, found.target) == (Cause.REDIRECT_UNUSABLE, None)


def test_the_same_location_twice_is_one() -> None:
    assert verdict(302, ("location", "/b"), ("location", "/b")).target == "http://a.test/b"


@pytest.mark.req("D19")
@pytest.mark.parametrize("status", [302, 404, 500, 204])
def test_a_useless_body_is_drained_when_small_and_refused_when_large(status: int) -> None:
    small = verdict(status, ("location", "/b"), ("content-length", str(DRAIN_BYTES)))
    large = verdict(status, ("location", "/b"), ("content-length", str(DRAIN_BYTES + 1)))
    assert (small.use, large.use) == (BodyUse.DRAIN, BodyUse.REFUSE)
    assert small.cause is large.cause


@pytest.mark.req("D19")
@settings(max_examples=200, deadline=None)
@given(
    st.integers(100, 999),
    st.lists(
        st.tuples(
            st.sampled_from(["content-type", "content-length", "content-encoding", "location"]),
            st.text(st.characters(max_codepoint=255), max_size=40),
        ),
        max_size=6,
    ),
    st.sampled_from(Accept),
)
def test_any_header_is_judged(status: int, fields: list[tuple[str, str]], accept: Accept) -> None:
    found = verdict(status, *fields, accept=accept)
    assert found.detail.isprintable()
    assert (found.use is BodyUse.KEEP) <= (found.cause is None)
