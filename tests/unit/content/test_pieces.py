"""A page that is parsed in pieces has the same tree, wherever it is cut."""

from pathlib import Path

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.html_tree import parse_in_pieces

PARTS = [
    *("<p>", "</p>", "<a href='x y'>", "<a href=x&amp;y>", "</a>", "<b>", "<i>", "</b>", "<table>"),
    *("<tr><td>", "\r\n", "\r", "\n", "&amp;", "&notin;", "&#x1F600;", "\U0001f600", "é", ">"),
    *("<!-- a --", "<script>", "</script>", "<textarea>\n", "</textarea>", "<!doctype html>"),
    *("<svg><a href=s>", "</svg>", "<title>t</title>", "<template>", "</template>", "text", "<"),
    *("\0", "<select><option>", "]]>"),
]


def same(source: str, piece: int) -> None:
    found, wanted = parse_in_pieces(source, piece, at_once=0), turbohtml.parse(source)
    assert found.html == wanted.html
    tags = {"a", "b", "p", "td", "option"}
    assert [one.position for one in found.iter_elements(tags)] == [
        one.position for one in wanted.iter_elements(tags)
    ]


@given(st.lists(st.sampled_from(PARTS), max_size=40), st.integers(1, 9))
def test_any_page_cut_anywhere(parts: list[str], piece: int) -> None:
    same("".join(parts), piece)


@pytest.mark.parametrize("piece", [7, 1000, 65_536])
def test_a_real_page(docs_site: Path, piece: int) -> None:
    largest = max(docs_site.rglob("*.html"), key=lambda path: path.stat().st_size)
    same(largest.read_text(encoding="utf-8", errors="replace"), piece)
