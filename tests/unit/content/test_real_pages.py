"""Real pages, whole and damaged, against other readers of HTML."""

import random
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gossamer.content import parser_limits as limits
from gossamer.content.charset import decode
from gossamer.content.html_tree import HtmlTree
from gossamer.content.markers import Markers
from gossamer.content.page_parser import ParseRules, parse
from gossamer.model import Url

SAMPLE = 200

DAMAGE = [
    *["<svg>", "</svg>", "<svg><title/>", "<math>", "</math>", "<foreignObject>", "<g>", "<mi>"],
    *["<template>", "</template>", "<noscript>", "</noscript>", "<script>", "</script>"],
    *["<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea>", "<iframe>"],
    *["<!--", "-->", "<a href=X>", "</a>", "<area href=Y>", "<p>", "</p>", "<div>", "</div>"],
    *["<table>", "<td>", "</table>", "<b>", "</b>", "<xmp>", "</xmp>", "<br/>", "</iframe>"],
    *['"', "'", "<", ">", "\0", "<?x", "<!x", "</", "<!doctype", "<html>", "</html>", "</body>"],
]


class OtherReader(HTMLParser):
    """The standard library's reader, which shares no code with ours."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag in {"a", "area"} and href is not None:
            self.hrefs.append(href.strip())


@pytest.fixture(scope="module")
def bodies(docs_site: Path) -> list[bytes]:
    paths = random.Random(1).sample(  # noqa: S311 - the same sample every time
        sorted(docs_site.rglob("*.html")), SAMPLE
    )
    return [path.read_bytes() for path in paths]


def damaged(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text))
        match chance.randrange(3):
            case 0:
                text = text[:start] + chance.choice(DAMAGE) + text[start:]
            case 1:
                text = text[:start] + text[start + chance.randint(1, 200) :]
            case _:
                other = chance.randrange(len(text))
                text = text[:start] + text[other : other + 300] + text[start:]
    return text


@pytest.mark.req("C9", "C13")
def test_the_links_of_real_pages_are_those_another_parser_finds(bodies: list[bytes]) -> None:
    for body in bodies:
        other = OtherReader()
        other.feed(decode(body).text)
        assert HtmlTree(decode(body).text).hrefs == other.hrefs


@pytest.mark.req("D9", "D19")
def test_renamed_elements_change_nothing_that_a_crawler_wants(
    bodies: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(2)  # noqa: S311 - the same damage every time
    whole = [decode(body).text for body in bodies]
    broken = [damaged(text, chance) for text in whole]
    wild = [HtmlTree(text) for text in whole + broken]
    monkeypatch.setattr(limits, "HARMLESS", 0)
    limited = [HtmlTree(text) for text in whole + broken]
    for small_page, wild_page in zip(limited[:SAMPLE], wild[:SAMPLE], strict=True):
        assert small_page.hrefs == wild_page.hrefs
        assert small_page.title == wild_page.title
        assert small_page.take_text().split() == wild_page.take_text().split()
    # Where a drawing is torn apart, a limited element may stay in it that would have ended it.
    pairs = zip(limited[SAMPLE:], wild[SAMPLE:], strict=True)
    assert sum(small_page.hrefs != wild_page.hrefs for small_page, wild_page in pairs) <= 2


@pytest.mark.req("D9", "D19")
def test_damaged_bytes_still_make_a_page(bodies: list[bytes]) -> None:
    chance = random.Random(3)  # noqa: S311 - the same damage every time
    markers = Markers.parse("<!-- CONTENT -->")
    for body in bodies:
        broken = bytearray(body)
        for _ in range(20):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        page = parse(
            bytes(broken),
            url=Url("http://a.example/"),
            content_type=chance.choice([None, "text/html", "text/html; charset=utf-16"]),
            rules=ParseRules(chance.choice([None, markers]), with_text=True),
        )
        assert page.text == " ".join(page.text.split())
