"""The Link header, by RFC 8288 and against it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.content.link_header import MAX_HEADER_LINKS, HeaderLink, header_links


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # the standard's own examples, sections 3.5 and B
        ('<http://e/TheBook/chapter2>; rel="previous"; title="previous chapter"', ["previous"]),
        ('</>; rel="http://e/foo"', ["http://e/foo"]),
        ('</terms>; rel="copyright"; anchor="#foo"', []),
        (
            "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, "
            "</TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel",
            ["previous", "next"],
        ),
        ('<http://e/>; rel="start http://e/relation/other"', ["start http://e/relation/other"]),
        ("<x>;REL=Next", ["Next"]),
        ("<x>; rel=next; rel=prev", ["next"]),
        ("<x> ;\trel = next ,, <y>;rel=prev", ["next", "prev"]),
        ("<x,y;z>; rel=next", ["next"]),
        (r'<x>; title="a \", <y>; rel=no"; rel=next', ["next"]),
        ('<x>; title="a, <y>; rel=no', []),
        ("<x>; crossorigin; rel=preload; as=font", ["preload"]),
        ("<x>", []),
        ("<x>; rel", []),
        ('<x>; rel=""', []),
        ("<x>; rel=next <y>; rel=no", ["next <y>"]),
        ("<x>; rel=next garbage, <y>; rel=prev", ["next garbage", "prev"]),
        ("<x>; rel=next, y; rel=no, <z>; rel=no", ["next"]),
        ("x; rel=next", []),
        ("<x; rel=next", []),
        ("", []),
        (",,,", []),
    ],
)
def test_a_field_has_its_relations(value: str, expected: list[str]) -> None:
    assert [link.rel for link in header_links([value])] == expected


def test_target_and_purpose_are_as_written() -> None:
    value = '< a b >; rel=preload; as="font", <>; rel=next'
    assert header_links([value]) == [
        HeaderLink("a b", "preload", "font"),
        HeaderLink("", "next"),
    ]


def test_there_is_a_limit_over_all_fields() -> None:
    assert len(header_links(["<x>; rel=next, " * 70] * 10)) == MAX_HEADER_LINKS


TARGETS = st.text(st.characters(codec="latin-1", exclude_characters="<>\t ,"), max_size=8)
RELS = st.from_regex(r"[a-zA-Z0-9.-]{1,8}( [a-z]{1,4})?", fullmatch=True)
QUOTED = st.text(st.characters(codec="latin-1"), max_size=8)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(TARGETS, RELS, QUOTED), max_size=8), st.sampled_from([",", " ,\t", ", ,"])
)
def test_what_is_written_by_the_standard_is_read(
    links: list[tuple[str, str, str]], separator: str
) -> None:
    def quote(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    fields = [f"<{to}>; title={quote(title)} ;rel={quote(rel)}" for to, rel, title in links]
    found = header_links([separator.join(fields)])
    assert [(link.target, link.rel) for link in found] == [
        (to.strip(), rel) for to, rel, _ in links
    ]


@given(st.lists(st.text(st.sampled_from('<>;,="\\ \t\nrela*x'), max_size=60), max_size=3))
def test_whatever_a_server_sends_ends_in_links_that_have_a_relation(values: list[str]) -> None:
    assert all(link.rel for link in header_links(values))


@pytest.mark.parametrize("part", ["<", "<x>;", '"\\', ";=", '<x>;a="', ", ", "\t", '<x>; rel="'])
def test_a_long_field_takes_time_in_proportion(part: str) -> None:
    header_links(["<x>; rel=next; " + part * 200_000])
