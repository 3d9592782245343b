"""Directories of Markdown: front matter that YAML reads, and links between the pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.lazy_document import LazyDocument
from gossamer.model import Page, Url
from gossamer.outputs.markdown import MarkdownForm
from gossamer.outputs.registry import make_output

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.outputs.conftest import MakePage, MakeSpec, Put

PARAGRAPH = "The frontier decides, with care, which of many pages a crawler asks for next. " * 6


def parsed(page: Page) -> Page:
    """Return the page with the document that a crawl gives it."""
    document = LazyDocument(page.body, page.url, page.content_type)
    return msgspec.structs.replace(page, document=document, language="en")


def read(path: Path) -> tuple[dict[str, object], str]:
    """Return front matter and body."""
    text = path.read_text()
    assert text.startswith("---\n")
    front, body = text[4:].split("\n---\n", 1)
    return yaml.safe_load(front), body


def test_a_page_is_its_main_content_with_front_matter(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    first = make_page(
        "http://x.org/",
        f"""<html><head><title>T</title><meta name=description content="D: 'q' --- &quot;">
        <base href="/docs/"></head><nav><a href=/nav>menu</a></nav><main><h1>Head</h1>
        <p>{PARAGRAPH}<a href="a#part">next</a> <a href="gone?x=1">gone</a> <img src=i.png>
        <a href="/#here">here</a> <code>[no](http://x.org/docs/a)</code></p>
        <table><tr><th>1<th>2<tr><td>x<td><ul><li><a title=T href="a?#cell">in</a>
        <li><a href="gone?x=1&amp;y">gone</a></ul></table></main>""".encode(),
        number=1,
    )
    second = make_page("http://x.org/docs/a", f"<p>{PARAGRAPH}<a href=..>up</a>".encode(), number=2)
    text = make_page(
        "http://x.org/t.txt", b"*plain* <http://x.org/> ```", number=3, content_type="text/plain"
    )
    image = make_page("http://x.org/docs/i.png", b"\x89PNG\r\n", number=4, content_type="image/png")
    output = make_output(spec := make_spec("site.md"))
    output.rewind(None)
    for page in (first, second, text, image):
        put(output, parsed(page))
    report = output.finish(())
    assert (report.items, report.unit) == (3, "page")
    front, body = read(spec.path / "x.org/index.md")
    assert front == {
        "url": "http://x.org/",
        "title": "T",
        "description": "D: 'q' --- \"",
        "language": "en",
        "depth": 2,
        "status": 200,
        "fetched_at": "2023-11-14T22:13:20Z",
    }
    assert "# Head" in body
    assert "menu" not in body
    assert "[next](docs/a.md#part)" in body
    assert "[gone](http://x.org/docs/gone?x=1)" in body
    assert "![](http://x.org/docs/i.png)" in body
    assert "[here](#here)" in body
    assert "`[no](http://x.org/docs/a)`" in body
    assert 'href="docs/a.md#cell"' in body, "a table with a list in it is HTML"
    assert '<a href="http://x.org/docs/gone?x=1&amp;y">' in body
    assert "[up](../index.md)" in read(spec.path / "x.org/docs/a.md")[1]
    plain = read(spec.path / "x.org/t.txt.md")[1]
    assert plain == "\n````\n*plain* <http://x.org/> ```\n````\n"


def test_links_in_tables_that_stay_html_are_relative_too(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    first = make_page(
        "http://x.org/",
        f"""<p>{PARAGRAPH}</p><table><tr><td colspan=2>a ` b <a href="a?b=1&amp;c=2#d">next</a> `
        <tr><td><a href=gone?x=1&amp;y>gone</a><td><pre>&lt;a href="http://x.org/a"><p>
        <p>and &lt;a href="http://x.org/a"> and <code>&lt;a href="http://x.org/a"></code></table>
        <p>{PARAGRAPH} &lt;a href="http://x.org/a">""".encode(),
        number=1,
    )
    output = make_output(spec := make_spec("site.md"))
    output.rewind(None)
    put(output, parsed(first))
    put(output, parsed(make_page("http://x.org/a?b=1&c=2", PARAGRAPH.encode(), number=2)))
    put(output, parsed(make_page("http://x.org/a", PARAGRAPH.encode(), number=3)))
    output.finish(())
    body = read(spec.path / "x.org/index.md")[1]
    links = re.findall(r'<a href="([^"]*)">(\w+)', body)
    assert links == [("a@b=1_c=2.md#d", "next"), ("http://x.org/gone?x=1&amp;y", "gone")]
    assert body.count('a href="http://x.org/a"') == 4, "what only looks like a link is none"


def test_a_depth_that_got_smaller_is_put_right(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    output = make_output(spec := make_spec("site.md"))
    output.rewind(None)
    put(output, parsed(make_page("http://x.org/", b"<title>\ndepth: 7</title><p>x", number=1)))
    assert output.follows_depths
    position = output.flush()
    output.finish([-1, 1])
    assert read(spec.path / "x.org/index.md")[0]["depth"] == 1
    output.rewind(position)
    output.finish([-1, 0])
    assert read(spec.path / "x.org/index.md")[0]["depth"] == 0


@given(st.text(max_size=80))
def test_whatever_the_title_yaml_reads_it(title: str) -> None:
    page = Page(
        id=1,
        url=Url("http://x.org/"),
        depth=0,
        status=200,
        content_type="text/html",
        encoding="utf-8",
        title=title,
        body=b"<p>---\n",
        links=(),
        fetched_at=0.0,
    )
    written = MarkdownForm().content(page).decode()
    front = written[4:].partition("\n---\n")[0]
    assert yaml.safe_load(front).get("title", "") == title


@pytest.mark.parametrize("name", ["x.org/a b.md", "x.org/b.md"])
def test_links_can_be_followed_by_a_markdown_reader(name: str) -> None:
    content = b"---\nurl: 1\n---\n\n[a](http://x.org/a) <http://x.org/a>\n"
    made = MarkdownForm().localised(content, "x.org/i.md", lambda _: name)
    link = name.partition("/")[2].replace(" ", "%20")
    assert made.decode().endswith(f"[a]({link}) [http://x.org/a]({link})\n")
