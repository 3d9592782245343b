"""Links in HTML, CSS and Markdown: every one is replaced, and nothing else."""

import pytest

from gossamer.outputs.markdown import rewrite_markdown
from gossamer.outputs.mirror import rewrite_css, rewrite_html

PAGE = """<!DOCTYPE html>
<HTML lang=en><head><title>T &amp; t</title>
<link rel=stylesheet href='1'><style>@import "2"; /* url(no) */ p{background:url( '3' )}</style>
</head><BODY background="4">
<a href=5#x>a</a> <A HREF=" 6?x=1&amp;y=2 " data-X='"'>b</A>
<img src="7" srcset="8 1x, 9, 10,11 2x"><form action=12><button formaction=13>k</button></form>
<video poster=14 src=15></video><object data=16></object>
<svg><image xlink:href="17"/><use href="#u"/></svg><p data=no style="color:red;b:url(18)">
<blockquote cite=19>q</blockquote><iframe src=20></iframe><noscript><img src=21></noscript>
<meta http-equiv=Refresh content="3; URL='22'"><meta name=a content="3; url=no">
<script>var a = '<a href="no">';</script><!-- <a href="no"> --><textarea><a href=no></textarea>
"""


def test_every_link_of_a_page_is_replaced() -> None:
    seen: list[str] = []

    def replace(href: str) -> str:
        seen.append(href)
        return f"new{len(seen)}"

    rewritten = rewrite_html(PAGE, replace)
    assert [one.partition("#")[0].partition("?")[0] for one in seen if one != "#u"] == [
        *map(str, range(1, 10)),
        "10,11",
        *map(str, range(12, 23)),
    ]
    again: list[str] = []
    rewrite_html(rewritten, again.append)
    assert again == [f"new{number}" for number in range(1, len(seen) + 1)]
    assert rewritten.count("no") == PAGE.count("no")


def test_a_page_without_a_link_to_replace_stays_as_it_is() -> None:
    assert rewrite_html(PAGE, lambda _: None) == PAGE


def test_a_replaced_link_cannot_leave_its_place() -> None:
    sharp = "\"'><script>alert(1)</script>)"
    page = rewrite_html('<a href=x><img srcset=y><p style="b:url(z)">', lambda _: sharp)
    assert "<script>" not in page
    assert rewrite_css("a{b:url(z)}", lambda _: sharp).count(")") == 1
    style = "<style>p{b:url(z)}</style><p>after"
    assert rewrite_html(style, lambda _: "</style><p>").endswith("</style><p>after")


@pytest.mark.parametrize(
    "hostile",
    [
        "<a href=x>" * 20_000,
        "<div>" * 50_000 + "<a href=x>",
        ("<b>" * 500 + "<p>" * 2_000) * 10,
        f"<img srcset='{',' * 200_000}a'>",
        f"<img srcset='{'( ' * 100_000}'>",
        f"<meta http-equiv=refresh content='{' ' * 200_000}x'>",
        f"<style>{'/*' * 100_000}</style>",
        f"<style>{'url(' * 50_000}{' ' * 50_000}</style>",
        "<noscript>" * 20_000,
    ],
)
@pytest.mark.timeout(10)
@pytest.mark.req("D19")
def test_a_hostile_page_takes_time_in_proportion(hostile: str) -> None:
    assert len(rewrite_html(hostile, lambda href: f"{href}!")) < 3 * len(hostile)


MARKDOWN = r"""# Title \[no\](no)

[a](1) ![b](<2 x> "title") [![](3)](4(5)) <http://x.org/6> \<http://no> `[no](no)`
[e](<>) | [t\|u](7\(8) |

> ````py
> [no](no) ```
> ````

``a ` [no](no)`` [last](9) [\\\\](10)
"""


def test_links_of_markdown_are_replaced_but_not_in_code() -> None:
    seen: list[str] = []

    def replace(href: str) -> str:
        seen.append(href)
        return f"new ({len(seen)})"

    rewritten = rewrite_markdown(MARKDOWN, replace)
    assert seen == ["1", "2 x", "3", "4(5)", "http://x.org/6", "7(8", "9", "10"]
    assert rewritten.count("no") == MARKDOWN.count("no")
    assert "[a](new%20%281%29)" in rewritten
    assert '![b](new%20%282%29 "title")' in rewritten
    assert "[http://x.org/6](new%20%285%29)" in rewritten
    assert rewrite_markdown(MARKDOWN, lambda _: None) == MARKDOWN
