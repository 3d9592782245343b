"""What holds for every text there is."""

import re
from typing import get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.urls import (
    Domains,
    Scope,
    ScopeKind,
    authority,
    fingerprint,
    host_key,
    host_of,
    location,
    merge_slashes,
    normalise,
    parse_seed,
    resolve,
)
from gossamer.urls.normalise import resolve_plain

# Surrogates, NUL and every plane of Unicode.
ANY_TEXT = st.text(st.characters())
# What URLs are made of, legal and not, so that most texts get past the parser.
PIECES = st.sampled_from(
    [
        *["/", "//", "\\", "?", "#", "&", "=", ";", ":", "@", ".", "..", "./", "../", "%"],
        *["%2", "%2e", "%2E.", "%4", "%41", "%31", "%7e", "%zz", "%00", "%c3%a9", "%2541"],
        *["a", "b.c", "-", "_", "~", "|", "^", "'", '"', "<", ">", " ", "\t", "\0"],
        *["1", "0x7f", "127.0.0.1", "[::1]", ":80", ":8080", "user:pw@"],
        *["é", "ß", "\u3002", "\uff0e", "\u00ad", "\u05d0", "\u202e", "\ud800", "\U0001f600"],
        *["xn--", "xn--a", "xn--bcher-kva"],
        *[";jsessionid=1", "(S(a))", "(S(a))/", "sid=", "utm_a=1", "PHPSESSID=1"],
    ]
)
URL_LIKE = st.builds(
    "".join, st.tuples(st.sampled_from(["http://", "https://h", "HTTP:", "http://h/"]), ANY_TEXT)
) | st.builds(
    lambda start, pieces: start + "".join(pieces),
    st.sampled_from(["http://", "https://h", "http://h/", "http://h/?", ""]),
    st.lists(PIECES, max_size=12),
)
TEXTS = ANY_TEXT | URL_LIKE
BASES = st.sampled_from(["http://base.example/a/b?c", "https://base.example:8443/", "about:blank"])

DOMAINS = Domains()

thorough = settings(max_examples=200, deadline=None)


def usable(text: str) -> Url:
    url = normalise(text)
    assume(url is not None)
    assert url is not None
    return url


@pytest.mark.req("C8", "D13", "D19")
@thorough
@given(TEXTS)
@example("http://h/%4%31%2%65")
@example("http://h/%%34%31")
def test_normalising_twice_changes_nothing(text: str) -> None:
    url = normalise(text)
    assert url is None or normalise(url) == url


@pytest.mark.req("C8", "C9", "D19")
@thorough
@given(TEXTS, BASES | TEXTS, st.sampled_from([None, "utf-8", "shift_jis", "windows-1251"]))
def test_a_resolved_link_is_in_normal_form(href: str, base: str, encoding: str | None) -> None:
    url = resolve(href, base, encoding)
    assert url is None or normalise(url) == url


PLAIN_LINKS = st.from_regex(
    r"(https?://([a-z0-9.-]{1,6}\.)?[a-z0-9.-]{1,6}/|/|(\.\./){1,4})?([\w.~-]{0,4}/?){0,4}(\?[a1.~=&/+;:?-]{0,6})?",
    fullmatch=True,
)


@pytest.mark.req("C8", "C9")
@thorough
@given(PLAIN_LINKS | TEXTS, URL_LIKE)
@example("http://a.xn--zz/", "http://h/")
@example("a/..", "http://h/?x/y")
@example("?a", "http://h/b")
@example("../../a", "http://h/b//c/d?e/f")
@example("../../../?a", "http://h/b/c")
@example("a" * 8185, "http://h/")
@example("a" * 8184, "http://h/")
def test_what_is_resolved_by_slicing_is_resolved_the_same(href: str, base: str) -> None:
    page = usable(base)
    plain = resolve_plain(href, page)
    assert plain is None or plain == resolve(href, page)


@pytest.mark.req("C8", "D19")
@thorough
@given(URL_LIKE)
def test_a_normal_form_is_what_the_rest_of_gossamer_relies_on(text: str) -> None:
    url = usable(text)
    assert re.fullmatch(r"https?://[^/?#@\s]+/[!-~]*", url)
    assert "#" not in url
    assert len(url) <= 8192
    assert url.startswith(authority(url) + "/")
    assert host_key(url)
    assert not host_key(url).endswith(".")
    assert host_of(url) in authority(url)
    assert location(url).startswith(host_key(url))


@pytest.mark.req("C8")
@thorough
@given(URL_LIKE)
def test_merged_slashes_are_stable(text: str) -> None:
    merged = merge_slashes(usable(text))
    assert "//" not in merged.partition("?")[0][8:]
    assert merge_slashes(merged) == merged
    assert normalise(merged) == merged


@pytest.mark.req("D11")
@thorough
@given(URL_LIKE)
@example("http://h/.;jsessionid=1/a")
@example("http://h/(S(a));jsessionid=1/b")
def test_a_fingerprint_is_a_normal_form_and_its_own_fingerprint(text: str) -> None:
    found = Url(fingerprint(usable(text)))
    assert normalise(found) == found
    assert Url(fingerprint(found)) == found


@pytest.mark.req("D11")
@thorough
@given(st.permutations(["a=1", "b=2", "c", "utm_x=3", "A=1", "d=%20"]))
def test_the_order_of_parameters_does_not_matter(parameters: list[str]) -> None:
    url = usable("http://h/?" + "&".join(parameters))
    assert fingerprint(url) == "http://h/?A=1&a=1&b=2&c&d=%20"


@pytest.mark.req("F3")
@thorough
@given(URL_LIKE, st.sampled_from(get_args(ScopeKind)))
def test_a_seed_is_in_its_own_scope(text: str, kind: ScopeKind) -> None:
    url = usable(text)
    assert Scope.for_seeds(kind, [url], domains=DOMAINS).judge(url)


@pytest.mark.req("C2", "D19")
@thorough
@given(TEXTS)
def test_a_seed_is_parsed_or_complained_about(text: str) -> None:
    complaint, url = "", None
    try:
        url = parse_seed(text)
    except UsageError as error:
        complaint = str(error)
    assert complaint.isprintable()
    assert url == normalise(text) or (complaint and "@" in text)
