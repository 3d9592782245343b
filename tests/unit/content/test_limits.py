import json
from pathlib import Path

import pytest

from gossamer.content import parser_limits as limits
from gossamer.content.html_tree import HtmlTree
from gossamer.content.page_parser import ParsedPage, ParseRules, first_language, parse
from gossamer.content.parser_limits import HARMLESS, PREFIX, as_written, rename_formatting
from gossamer.model import Url
from gossamer.policy.content_kinds import USUAL

TREE_TESTS = Path(__file__).parents[2] / "spec/data/html/tree_construction.json"
"""The inputs of the tree construction tests of html5lib and the web platform."""
PADDING = "<p>x" * 3_000
"""Makes every page large enough to have its elements renamed."""


def page(html: str) -> ParsedPage:
    rules, url = ParseRules(with_text=True), Url("http://a.example/")
    return parse((html + PADDING).encode(), url=url, content_type="text/html", rules=rules)


@pytest.mark.req("D19")
def test_a_page_too_small_to_explode_is_left_alone() -> None:
    html = "<b>" * 1000 + "<p>" * 1000
    assert html.count("<") * len(html) < HARMLESS
    assert rename_formatting(html) is html


# The standard's formatting elements, and the two that take attributes from their repetitions.
MULTIPLYING = "a b big code em font i nobr s small strike strong tt u body html"


@pytest.mark.req("D19")
@pytest.mark.parametrize("name", MULTIPLYING.split())
@pytest.mark.parametrize("rest", [">", "/>", " x=1>", "\n\tx>", "\f>"])
def test_on_a_large_page_elements_that_multiply_lose_their_meaning(name: str, rest: str) -> None:
    for written in (name, name.upper()):
        html = f"<html><{{}}{written}{rest}{PADDING}"
        assert rename_formatting(html.format("")) == html.format(PREFIX)


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "tag", ["<br>", "<area>", "<base>", "<section>", "<span>", "</b>", "<bold>", "< b>", "<b-c>"]
)
def test_all_others_keep_theirs(tag: str) -> None:
    assert rename_formatting(tag + PADDING) == tag + PADDING


@pytest.mark.req("C9", "D9")
def test_renaming_changes_neither_links_nor_text() -> None:
    found = page(
        """<html><head><title>The <b > tag</title><base href=/b/>
        <meta name=robots content="<i >"></head><body><a href="x?<u >">one</a> un<b>believ</b>able
        <p><a href=y>two</a><textarea><s ></textarea><svg><a href=n></a></svg>"""
    )
    assert found.title == "The <b > tag"
    assert found.metas == (("robots", "<i >"),)
    assert [link.href for link in found.links] == ["x?<u >", "y"]
    assert found.links[0].url == "http://a.example/b/x?%3Cu%20%3E"
    assert found.text.startswith("one unbelievable two <s > x x x")


@pytest.mark.req("C9", "D9", "D19")
def test_however_odd_a_page_renaming_changes_nothing_but_its_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = json.loads(TREE_TESTS.read_text("ascii"))["inputs"]
    as_it_is = [facts_of(html) for html in inputs]
    monkeypatch.setattr(limits, "HARMLESS", 0)
    assert [facts_of(html) for html in inputs] == as_it_is


def facts_of(html: str) -> list[object]:
    page = HtmlTree(html, None, USUAL)
    links = [*zip(page.hrefs, page.kinds, strict=True)]
    return [links, page.title, page.base, page.metas, page.refresh, first_language(page.languages)]


@pytest.mark.req("D9")
def test_the_root_keeps_its_name_because_it_has_the_language() -> None:
    assert page("<!doctype html>\n<HTML lang=de><body lang=fr><html lang=en>").language == "de"


@pytest.mark.req("D9")
def test_what_was_renamed_is_named_back() -> None:
    text = f"a <b > and <BODY c>{PADDING}"
    assert as_written(rename_formatting(text)) == text
