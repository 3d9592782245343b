import pytest

from gossamer.content.links import PageLink
from gossamer.content.markers import Markers
from gossamer.content.page_parser import ParsedPage, ParseRules, parse
from gossamer.model import Url
from gossamer.model.errors import UsageError

CONTENT = Markers.parse("<!-- CONTENT -->")


def page(html: str, markers: Markers | None = CONTENT) -> ParsedPage:
    rules, url = ParseRules(markers, with_text=True), Url("http://a.example/")
    return parse(html.encode(), url=url, content_type="text/html", rules=rules)


def hrefs(html: str, markers: Markers | None = CONTENT) -> list[str]:
    return [link.href for link in page(html, markers).links]


@pytest.mark.req("F2")
@pytest.mark.parametrize(
    "closing", ["<!-- CONTENT -->", "<!-- /CONTENT -->", "<!--/CONTENT-->", "<!-- END CONTENT -->"]
)
def test_only_links_between_the_markers_count(closing: str) -> None:
    html = f"<a href=1></a><!-- CONTENT --><a href=2></a><p><a href=3></a>{closing}<a href=4></a>"
    assert hrefs(html) == ["2", "3"]
    assert not page(html).markers_missing


@pytest.mark.req("F2")
def test_a_page_may_have_several_marked_parts() -> None:
    part = "<!-- CONTENT --><a href=in></a><!-- CONTENT --><a href=out></a>"
    assert hrefs(part * 3) == ["in"] * 3


@pytest.mark.req("F2")
@pytest.mark.parametrize("comment", ["<!--CONTENT-->", "<!-- \n CONTENT\t-->", "<!--CONTENT --!>"])
def test_white_space_in_a_marker_means_nothing(comment: str) -> None:
    assert hrefs(f"{comment}<a href=2></a>") == ["2"]


@pytest.mark.req("F2")
@pytest.mark.parametrize(
    "html",
    [
        "<a href=1></a>",
        "<!-- content --><a href=1></a>",
        "<!-- /CONTENT --><a href=1></a>",
        "<!-- THE CONTENT --><a href=1></a>",
        "CONTENT <a href=1></a>",
        "<script><!-- CONTENT --></script><a href=1></a>",
        "<p title='<!-- CONTENT -->'><a href=1></a>",
        "",
    ],
)
def test_a_page_without_markers_yields_no_links_and_says_so(html: str) -> None:
    assert page(html).links == ()
    assert page(html).markers_missing


@pytest.mark.req("F2")
def test_without_the_option_markers_are_comments_like_any_other() -> None:
    html = "<a href=1></a><!-- CONTENT --><a href=2></a>"
    assert hrefs(html, markers=None) == ["1", "2"]
    assert not page(html, markers=None).markers_missing


@pytest.mark.req("F2", "D9")
def test_the_order_is_that_of_the_source_however_broken_the_page() -> None:
    # A tree builder would move these links in front of the table, and the comments behind the body.
    table = "<table><!-- CONTENT --><a href=2></a><!-- CONTENT --><tr><td><a href=3></a></table>"
    assert hrefs(table) == ["2"]
    assert hrefs(f"</body></html>{table}") == ["2"]


@pytest.mark.req("F2")
def test_neither_line_ends_nor_wide_letters_shift_the_parts() -> None:
    html = "é\U0001f600\r\n\r<a href=1></a>\t\U0001f600<!-- CONTENT --><a href=2></a>\n\r\f<p>"
    assert hrefs(f"{html}\U0001f600<a href=3></a><!-- CONTENT --><a href=4></a>") == ["2", "3"]


@pytest.mark.req("F2")
def test_a_part_that_is_never_closed_ends_with_the_page() -> None:
    assert hrefs("<a href=1></a><!-- CONTENT --><a href=2></a>") == ["2"]


@pytest.mark.req("F2")
def test_title_text_and_base_are_the_whole_page_s() -> None:
    found = page(
        "<base href=/b/><title>T</title>out<!-- CONTENT --><a href=2>side</a><!-- CONTENT -->"
    )
    assert (found.title, found.text) == ("T", "outside")
    assert found.links == (PageLink("2", Url("http://a.example/b/2")),)


@pytest.mark.req("F2")
def test_opening_and_closing_markers_may_differ() -> None:
    markers = Markers.parse("<!-- begin: main --> <!-- stop -->")
    assert markers == Markers(start="begin: main", end="stop")
    html = "<!--begin: main--><a href=1></a><!--begin: main--><a href=2></a><!--stop--><a href=3>"
    assert hrefs(html, markers) == ["1", "2"]


@pytest.mark.req("F2")
@pytest.mark.parametrize(
    "text",
    ["", "CONTENT", "<!-- -->", "<!---->", "<!-- A", "<div>", "<!-- A --> B", "<!--A-->" * 3],
)
def test_what_is_no_comment_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UsageError, match="write for example <!-- CONTENT -->"):
        Markers.parse(text)
