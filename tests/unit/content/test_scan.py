"""The scan of a page gives what its tree gives, or leaves the page to it."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.scan_cases import FOLLOWED, damaged, difference, tree_tests, written

from gossamer.content import limits, parse
from gossamer.content.charset import decode
from gossamer.content.scan import scan
from gossamer.kinds import LinkKind
from gossamer.model import Url
from gossamer.policy.link_kinds import USUAL

PAGE = Url("http://a.example/b/c")

SCANNED = {
    "a plain page": '<!DOCTYPE html><html lang="de"><title>T &amp; t</title><a class="c" href="x">',
    "attributes of every form": "<a id=1 HREF='a&amp;b' href=no>x</a><a href=c/d>y<a\nhref>z",
    "a comment": "<!-- <a href=no> --><a href=x><!----><a href=y>",
    "a script": "<script>if (a<b) '<a href=no></b>'</script><a href=x>",
    "a script with a comment": "<script><!-- x --></script><a href=x>",
    "an unclosed link": "<p><a href=x>one<p>two<div><a href=y>three",
    "a drawing": "<svg viewBox='0'><title>no</title><g><path d=1 /></g></svg><title>T</title>",
    "a choice": "<select><option value=1>a<option>b</select><a href=x>",
    "a table": "<table>\n<tr><td><a href=x>\n<td><a href=y></table><a href=z>",
    "an XML declaration": '<?xml version="1.0"?><html lang="fr"><a href=x>',
    "a tag in a tag": "<b <a href=no>><a href=x>",
    "a query": '<a href="?a=1&b=2&copy=3">',
    "a refresh": '<meta http-equiv="refresh" content="0;url=x"><base href=b>',
    "meta elements": "<meta name=n content=c><meta name=m content='&eacute;'><meta charset=utf-8>",
}
LEFT = {
    "a tag in a value": '<b title="> <a href=no>"><a href=x>',
    "a value that ends elsewhere": '<a title="x>y" href="z">',
    "a tag that does not end": "<a href=x><a href=y",
    "a link in a table": "<table><tr><td><a href=x></td></tr><a href=y></table>",
    "a text in a table": "<table><tr>x<td><a href=x></table>",
    "a template": "<template><a href=x></template>",
    "a link in a drawing": "<svg><a href=x></a></svg>",
    "a title in a closed drawing": "<svg/><title>T</title></svg>",
    "a link in a choice": "<select><a href=x></select>",
    "a formula": "<math><title>x</title></math>",
    "frames": "<frameset><frame src=x></frameset>",
    "plain text": "<plaintext><a href=x>",
    "an unclosed comment": "<a href=x><!-- <a href=y>",
    "a comment of another form": "<!--><a href=x>-->",
    "a comment that ends otherwise": "<!-- --!><a href=x>-->",
    "an unclosed title": "<title><a href=x>",
    "a script in a script": "<script><!--<script></script><a href=x>--></script>",
    "capitals": "<A HREF=x>",
    "capitals in a name": "<scrIPt><a href=no></scrIPt>",
    "a null character": "<a href=x\0>",
    "a reference that is cut": "<a href='?a&copy'>",
    "a reference to another character": "<a href='&#128;'>",
    "two roots": "<html lang=de><html lang=en xml:lang=fr>",
    "a root in a comment": "<!-- <html> --><html lang=de>",
    "a refresh in a noscript": "<noscript><meta http-equiv=refresh content='0;url=x'></noscript>",
    "less than": "1 < 2 <a href=x>",
    "a name of ours": "<gossamer-a href=x><a href='&lt;gossamer-b'>",
}


@pytest.mark.req("C9", "D9")
@pytest.mark.parametrize("html", SCANNED.values(), ids=SCANNED)
def test_the_scan_gives_what_the_tree_gives(html: str) -> None:
    assert [difference(html, follow) for follow in FOLLOWED] == [""] * len(FOLLOWED)


@pytest.mark.req("C9", "D9")
@pytest.mark.parametrize("html", LEFT.values(), ids=LEFT)
def test_what_is_not_certain_is_left_to_the_tree(html: str) -> None:
    assert scan(html, USUAL) is None


@pytest.mark.req("C9", "D9")
def test_real_pages_whole_and_damaged(docs_site: Path) -> None:
    chance = random.Random(1)  # noqa: S311 -- the same pages every time
    paths = chance.sample(sorted(docs_site.rglob("*.html")), 200)
    texts = [decode(path.read_bytes()).text for path in paths]
    found = [difference(text, USUAL) for text in texts]
    assert not [*filter(None, found)]
    assert found.count("") > 0.9 * len(texts)
    small = [text for text in texts if len(text) < 20_000]
    assert not [*filter(None, (difference(damaged(text, chance), USUAL) for text in small))]


@pytest.mark.req("C9", "D9", "D19")
@pytest.mark.parametrize("harmless", [limits.HARMLESS, 0])
def test_the_tree_construction_tests_of_the_web_platform(
    harmless: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HARMLESS", harmless)
    chance = random.Random(2)  # noqa: S311
    for html in tree_tests():
        for text in (html, damaged(html, chance)):
            assert not difference(text, chance.choice(FOLLOWED)), text


@pytest.mark.req("C9", "D9", "D19")
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(FOLLOWED))
def test_random_pages(seed: int, follow: frozenset[LinkKind]) -> None:
    chance = random.Random(seed)  # noqa: S311
    for _ in range(10):
        text = written(chance)
        assert not difference(text, follow), text


HOSTILE = ["<a ", ">", '="', "='x ", "<!--", "<script>", "&", "<svg>", "<tr>", "<a href=x>"]


@pytest.mark.req("D19")
@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_pages_take_time_in_proportion(part: str) -> None:
    scan(part * (490_000 // len(part)), USUAL)
    scan("<p>" + part * (490_000 // len(part)) + "</p>", USUAL)


@pytest.mark.req("C9", "C10")
def test_a_large_page_is_scanned_and_its_text_comes_from_its_tree() -> None:
    html = "<title>T</title><base href=/d/><p>one<b>two</b><p><a href=x>three</a>" + "<p>y" * 3_000
    assert scan(html, USUAL) is not None
    page = parse(html.encode(), url=PAGE, content_type="text/html")
    assert (page.title, [link.url for link in page.links]) == ("T", ["http://a.example/d/x"])
    assert page.text.startswith("onetwo three y y")
    assert page.take_run().startswith("onetwothreeyy")
