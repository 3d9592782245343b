"""Bulk in the source of a page: no step of the parser is long, and the tree stays the same."""

import re

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content import parser_limits as bulk
from gossamer.content import parser_limits as limits
from gossamer.content.html_tree import HtmlTree
from gossamer.content.parser_limits import (
    LARGE,
    MAX_TAG,
    RENAMED_AT_ONCE,
    rename_formatting,
    with_body,
    without_giant_tags,
)

ATTRIBUTES = "".join(f" a{number}" for number in range(MAX_TAG // 5))
BEGINNINGS = [
    *("<!doctype html>", "<!-- a -->", "<!--a>", "<!--->", "<?xml version='1.0'?>", "<html>", "\n"),
    *("<html lang=de>", "\0", "text", "&amp;", "&", "<", "< ", "<head>", "<p>", "<title>", "</p>"),
    *("<body class=a>", "<frameset>", "</head>", "<script>", "</html>", "<table>", "</br>", "<a>"),
]


@pytest.mark.req("D19")
@pytest.mark.parametrize("attributes", [ATTRIBUTES, ATTRIBUTES.replace(" a1", ' a1=">"')])
def test_finding_11_a_giant_tag_loses_its_attributes(attributes: str) -> None:
    page = "some <b>words</b> <a href=/before>x</a><p{}>and <a href=/after>y</a></p{}> <p id=b>"
    slim = without_giant_tags(page.format(attributes, attributes))
    assert slim == page.format("", "")
    assert HtmlTree(page.format(attributes, "")).hrefs == ["/before", "/after"]


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "page",
    [
        "<svg><style>{}</style></svg>",
        "<svg><script>{}",
        "<math><xmp>{}</xmp></math>",
        "<noscript>{}</noscript>",
        "<NOSCRIPT\n>{}",
    ],
)
def test_a_giant_tag_loses_its_attributes_where_only_the_tree_has_one(page: str) -> None:
    page = f"<a href=/before>x</a>{page}<a href=/after>"
    tag = f"<image{ATTRIBUTES}>"
    assert f"{ATTRIBUTES[-8:]}=" in turbohtml.parse(page.format(tag)).html, "it has one there"
    assert without_giant_tags(page.format(tag)) == page.format("<image>")


@pytest.mark.parametrize("name", ["noscript", "style", "svg"])
def test_such_an_element_may_be_the_giant_tag(name: str) -> None:
    page = f"<svg><p></svg><{name}{{}}>x</{name}><a href=/after>"
    assert without_giant_tags(page.format(ATTRIBUTES)) == page.format("")


def test_several_giant_tags_with_any_ends_of_lines() -> None:
    attributes = ATTRIBUTES.replace(" a7", "\r\na7").replace(" a8", "\ra8")
    page = "<p a>\r\n<p{}>x<p b><p{}>y<p c>".format
    assert without_giant_tags(page(attributes, ATTRIBUTES)) == page("", "").replace("\r\n", "\n")


def test_what_is_text_in_a_script_of_html_stays() -> None:
    page = f"<script>if (a <b{ATTRIBUTES}) f()</script><style><p{ATTRIBUTES}></style>"
    assert without_giant_tags(page) is page


def test_other_tags_keep_their_attributes() -> None:
    picture = f"<img src='data:image/png;base64,{'A' * (MAX_TAG - 100)}'>"
    page = f"{picture}<pre>{'text ' * (MAX_TAG // 4)}</pre><a href=/x>" * 2
    assert without_giant_tags(page) is page


@pytest.mark.req("D19")
def test_finding_11_the_body_begins_before_the_text_of_a_large_page() -> None:
    text = "words " * (LARGE // 6 + 1)
    assert with_body(text) == f"<body>{text}"
    assert with_body(f"<!doctype html>\n{text}") == f"<!doctype html>\n<body>{text}"
    assert with_body(f"<{text}") == f"<{text}", "that is a tag"
    assert with_body(text[:LARGE]) == text[:LARGE], "it is not large"


@given(st.lists(st.sampled_from(BEGINNINGS), max_size=6))
def test_the_tree_has_the_same_body(parts: list[str]) -> None:
    page = "".join([*parts, "words"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "LARGE", 0)
        assert turbohtml.parse(with_body(page)).html == turbohtml.parse(page).html


class Recorder:
    """A pattern that notes how much it reads at once."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.lengths: list[int] = []

    def sub(self, replacement: str, text: str) -> str:
        self.lengths.append(len(text))
        return self._pattern.sub(replacement, text)


@pytest.mark.req("D19")
@pytest.mark.parametrize("part", ["<b>x<p>", "<", "<html lang=de><a href=x>"])
def test_finding_11_elements_are_renamed_in_pieces(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = part * (10 * RENAMED_AT_ONCE // len(part))
    at_once = limits._START.sub("<gossamer-", page).replace("<gossamer-html", "<html", 1)
    recorder = Recorder(limits._START)
    monkeypatch.setattr(limits, "_START", recorder)
    assert rename_formatting(page) == at_once
    assert max(recorder.lengths) <= RENAMED_AT_ONCE + len(part)


def test_the_root_keeps_its_name_whatever_stands_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HARMLESS", -1)
    page = "<!-- <gossamer-html --><html lang=de><b>x<html>"
    renamed = "<!-- <gossamer-html --><html lang=de><gossamer-b>x<gossamer-html>"
    assert rename_formatting(page) == renamed
