"""What is on a page: links above all."""

import pytest

from gossamer.content.html_tree import HtmlTree, decode_markup
from gossamer.content.links import MAX_LINKS, PageLink
from gossamer.content.page_parser import MAX_READ_BYTES, ParsedPage, ParseRules, parse
from gossamer.content.sniff import parse_content_type
from gossamer.model import Url
from gossamer.model.names import ContentKind, LinkKind
from gossamer.policy import may_follow

PAGE = Url("http://a.example/dir/page?q")


def page(html: str | bytes, content_type: str | None = "text/html; charset=utf-8") -> ParsedPage:
    body = html.encode() if isinstance(html, str) else html
    return parse(body, url=PAGE, content_type=content_type, rules=ParseRules(with_text=True))


def hrefs(html: str) -> list[str]:
    return [link.href for link in page(html).links]


def urls(html: str) -> list[str | None]:
    return [link.url for link in page(html).links]


@pytest.mark.req("C9")
def test_links_come_from_a_and_area_in_order_and_repeated() -> None:
    html = """<a href="x">1</a><map><area href='y'></map><A HREF=x>2</A><a name=n>3</a>
    <link href=l><img src=i><form action=f><iframe src=s></iframe><q cite=c><a>no</a>"""
    assert page(html).links == (
        PageLink("x", Url("http://a.example/dir/x")),
        PageLink("y", Url("http://a.example/dir/y"), LinkKind.AREA),
        PageLink("x", Url("http://a.example/dir/x")),
    )


@pytest.mark.req("C9")
@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("b", "http://a.example/dir/b"),
        ("/b", "http://a.example/b"),
        ("../b/./c", "http://a.example/b/c"),
        ("//b.example", "http://b.example/"),
        ("https://b.example:443/#top", "https://b.example/"),
        ("?a=1&amp;b=2", "http://a.example/dir/page?a=1&b=2"),
        ("?copy=1&copy;=2", "http://a.example/dir/page?copy=1%C2%A9=2"),
        ("&#47;b&#x2f;c", "http://a.example/b/c"),
        ("#fragment", "http://a.example/dir/page?q"),
        ("", "http://a.example/dir/page?q"),
        ("  \n b \t ", "http://a.example/dir/b"),
        ("a\nb\tc", "http://a.example/dir/abc"),
        ("\\b", "http://a.example/b"),
        ("é", "http://a.example/dir/%C3%A9"),
        ("http://user:secret@b.example/", "http://b.example/"),
    ],
)
def test_links_are_decoded_resolved_and_normalised(href: str, url: str) -> None:
    assert urls(f'<a href="{href}">') == [url]


@pytest.mark.req("D13", "D19")
@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)",
        "JavaScript&colon;alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<a href=x>",
        "mailto:a@a.example",
        "tel:+1",
        "blob:http://a.example/1",
        "about:blank",
        "file:///etc/passwd",
        "ftp://a.example/",
        "http://",
        "http://a b/",
        "http://[::1/",
        "http://%00/",
        "x" * 40_000,
    ],
)
def test_harmful_and_malformed_links_lead_nowhere_and_are_still_counted(href: str) -> None:
    (link,) = page(f'<a href="{href}">').links
    assert link.url is None
    assert link.href == href.replace("&colon;", ":")[:8192]


@pytest.mark.req("C9", "D19")
@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", "http://a.example/dir/"),
        ("<base href=/b/>", "http://a.example/b/"),
        ("<base href=http://b.example/c/d>", "http://b.example/c/"),
        ("<base href=c/>", "http://a.example/dir/c/"),
        ("<base href=/b/><base href=/c/>", "http://a.example/b/"),
        ("<base target=_top><base href=/b/>", "http://a.example/b/"),
        ("<base href=javascript:x><base href=/b/>", "http://a.example/dir/"),
        ("<base href=data:,x>", "http://a.example/dir/"),
        ("<base href='http://:x'>", "http://a.example/dir/"),
        ("<base href=ftp://b.example/>", "http://a.example/dir/"),
        ("<svg><base href=/b/></svg>", "http://a.example/dir/"),
        ("<template><base href=/b/></template>", "http://a.example/dir/"),
        ("<base href='http://:x'><base href=/b/>", "http://a.example/dir/"),
    ],
)
def test_links_are_relative_to_the_first_base_if_it_is_usable(head: str, base: str) -> None:
    assert urls(f"{head}<a href=x>") == [f"{base}x"]
    assert urls(f"<a href=x></a>{head}") == [f"{base}x"], "wherever the base stands"


@pytest.mark.req("C9", "D9")
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<!-- <a href=x> -->", []),
        ("<!-- unclosed <a href=x>", []),
        ("<!--> <a href=x>", ["x"]),
        ("<!-- a --!> <a href=x>", ["x"]),
        ("<script>'<a href=x>'</script>", []),
        ("<script><!--<script></script><a href=x></script>--></script><a href=y>", ["y"]),
        ("<style><a href=x></style>", []),
        ("<title><a href=x></title>", []),
        ("<textarea><a href=x></textarea>", []),
        ("<iframe><a href=x></iframe>", []),
        ("<xmp><a href=x></xmp><a href=y>", ["y"]),
        ("<plaintext><a href=x>", []),
        ("<p title='<a href=x>'>", []),
        ("<a href=x", []),
        ("<a href='x>text</a>", []),
        ("<a href='x>text</a><a href='y'>", ["x>text</a><a href="]),
        ("<a href=x href=y>", ["x"]),
        ("<a/href=x/>", ["x/"]),
        ("<a href = 'x' / >", ["x"]),
        ('<a title="a"href="x">', ["x"]),
        ("<a\0href=x><a href=y>", ["y"]),
        ("</a href=x>", []),
        ("<a href=1><a href=2></b></a><table><a href=3><tr><a href=4>", ["1", "2", "3", "4"]),
        ("<p><a href=x>one<p>two<p>three", ["x"]),
        ("<b><a href=x></b></a><select><a href=y></select>", ["x", "y"]),
        ("</html><a href=x>", ["x"]),
        ("<?php <a href=x> ?><a href=y>", ["y"]),
    ],
)
def test_malformed_html_is_understood_as_in_browsers(html: str, expected: list[str]) -> None:
    assert hrefs(html) == expected


@pytest.mark.req("C9")
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<template><a href=x></a></template><a href=y>", ["y"]),
        ("<template><template></template><a href=x></template><a href=y>", ["y"]),
        ("<template><a href=x>", []),
        ("</template><a href=x>", ["x"]),
        ("<template><svg></template><a href=y>", ["y"]),
        ("<template><svg><title/></svg></template><a href=y>", ["y"]),
        ("<noscript><a href=x>1</a></noscript><a href=y>", ["x", "y"]),
        ("<template><noscript><a href=x></noscript></template>", []),
        ("<noscript><a href=x>", ["x"]),
        ("<noscript><!-- </noscript><a href=y>", []),
    ],
)
def test_templates_are_no_content_and_noscript_is(html: str, expected: list[str]) -> None:
    assert hrefs(html) == expected


@pytest.mark.req("C9")
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<svg><a href=x xlink:href=x></a></svg><a href=y>", ["y"]),
        ("<math><a href=x></math><a href=y>", ["y"]),
        ("<svg/><a href=y>", ["y"]),
        ("<svg><g/><path></svg><a href=y>", ["y"]),
        ("<svg><foreignObject><a href=x></a></foreignObject><a href=n></svg>", ["x"]),
        ("<svg><foreignObject><svg><a href=n></svg><a href=x>", ["x"]),
        ("<svg><desc><a href=x></desc></svg>", ["x"]),
        ("<svg><g><p><a href=x>", ["x"]),
        ("<svg><font><a href=n><font color=red><a href=x>", ["x"]),
        ("<div><svg><g></div><a href=y>", ["y"]),
        ("<a href=1><svg><path></a><a href=2>", ["1", "2"]),
        ("<math><mi><a href=x></a></mi><a href=n></math>", ["x"]),
        ("<svg><title/></svg><a href=y>", ["y"]),
        ("\r\n<svg>\r<title id='>'/></svg><a href=é>", ["é"]),
        ("<svg><style/><script/><textarea/></svg><a href=y>", ["y"]),
        ("<svg><title>&lt;a href=n&gt;</title></svg><a href=y>", ["y"]),
        ("<title/><a href=n></title><a href=y>", ["y"]),
    ],
)
def test_links_of_drawings_and_formulas_are_not_html_s(html: str, expected: list[str]) -> None:
    assert hrefs(html) == expected


@pytest.mark.req("D19")
def test_ten_thousand_different_links_are_kept_the_first_ones() -> None:
    html = "".join(f"<a href={number}>" for number in range(MAX_LINKS + 5))
    found = page(f"{html}<a href=0>")
    assert [link.href for link in found.links] == [*map(str, range(MAX_LINKS)), "0"]


@pytest.mark.req("C5", "D19")
def test_an_index_may_point_to_the_same_pages_many_times() -> None:
    entries = "".join(f"<a href=x#{number}>" for number in range(MAX_LINKS + 5))
    found = page(f"{entries}<a href=last>")
    assert len(found.links) == MAX_LINKS + 6
    assert len(page("<a href=x></a>" * 100_001).links) == 100_000, "but not for ever"


@pytest.mark.req("D19")
def test_a_page_is_read_up_to_a_limit() -> None:
    found = page(b"<a href=first>" + b" " * MAX_READ_BYTES + b"<a href=last>")
    assert [link.href for link in found.links] == ["first"]


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>\n A &amp; B\t C </title>", "A & B C"),
        ("<title>first</title><title>second</title>", "first"),
        ("<body><title>in the body</title>", "in the body"),
        ("<svg><title>drawing</title></svg><title>page</title>", "page"),
        ("<template><title>no</title></template><title>page</title>", "page"),
        ("<title>never closed", "never closed"),
        ("<title></title>", ""),
        ("no title", ""),
        (f"<title>{'word ' * 1000}</title>", "word " * 100),
    ],
)
def test_the_title_is_one_line(html: str, title: str) -> None:
    assert page(html).title == title


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("un<b>believ</b>able", "unbelievable"),
        ("a<br>b<hr>c<li>d<table><td>e<td>f</table><h1>g</h1>h", "a b c d e f g h"),
        ("<span><div>a</div></span>b", "a b"),
        ("a\n\t  b&nbsp;&nbsp;c", "a b c"),
        ("a<!-- comment -->b", "ab"),
        ("<script>code</script>a<style>rules</style>", "a"),
        ("<title>title</title>a<noscript>turn it on</noscript>", "a"),
        ("a<template>b<p>c</template>d", "ad"),
        ("a<template>b", "a"),
        ("<textarea>a</textarea><pre>b\n\nc</pre>", "a b c"),
        ("<select><option>a<option>b</select>", "a b"),
        ("<svg><title>no</title><style>no</style><text>a</text></svg>", "a"),
        ("<svg><title/></svg>a", "a"),
        ("a<script>never closed", "a"),
        ("&lt;a&gt; &#x1F600; a\0b", "<a> 😀 ab"),
        ("", ""),
    ],
)
def test_the_text_is_what_a_reader_sees(html: str, text: str) -> None:
    assert page(html).text == text


@pytest.mark.req("D9")
def test_a_text_page_has_words_but_neither_links_nor_title() -> None:
    found = page("<title>t</title>\n <a href=x>", "text/plain; charset=utf-8")
    assert (found.kind, found.links, found.title) == (ContentKind.TEXT, (), "")
    assert found.text == "<title>t</title> <a href=x>"


@pytest.mark.req("D9")
def test_a_binary_body_is_not_read() -> None:
    image = page(b"\x89PNG\r\n\x1a\n<a href=x>")
    assert (image.kind, image.links, image.text) == (ContentKind.IMAGE, (), "")


@pytest.mark.req("D9")
def test_a_page_without_a_label_is_recognised() -> None:
    assert page("<!doctype html><a href=x>", content_type=None).kind is ContentKind.HTML


def test_an_empty_element_of_xml_ends_where_it_begins() -> None:
    html = (
        "<html><head><title>T</title><script src='>'/></head><br/><a id='x'/>one<a href='y'>two</a>"
    )
    sent_as_xml = page(html, content_type="application/xhtml+xml")
    assert [link.href for link in sent_as_xml.links] == ["y"]
    assert sent_as_xml.text == "onetwo"
    assert not page(html).links, "in HTML all the rest is the script"


def test_cdata_of_xml_is_text_but_for_scripts_and_comments() -> None:
    html = (
        "<html><body><script>//<![CDATA[\nif (a<b) '<p/>'\n//]]></script><!-- <![CDATA[no]]> -->"
        "<p>one <![CDATA[two <a href='x'/> & ]]>three</p></body></html>"
    )
    label = "application/xhtml+xml"
    sent_as_xml = page(html, content_type=label)
    assert sent_as_xml.text == "one two <a href='x'/> & three"
    assert not sent_as_xml.links
    script, _, _ = decode_markup(html.encode(), parse_content_type(label)).text.partition("<!-- ")
    assert script == html.partition("<!-- ")[0], "as it is: it is HTML already"


@pytest.mark.req("C9", "D19")
@pytest.mark.parametrize(
    ("encoding", "query"),
    [("utf-8", "%D0%B6"), ("windows-1251", "%E6"), ("koi8-r", "%D6"), ("latin1", "%26%231078%3B")],
)
def test_a_query_is_sent_in_the_encoding_of_its_page(encoding: str, query: str) -> None:
    body = "<a href='/ж?ж'>".encode(encoding, "xmlcharrefreplace")
    found = page(body, f"text/html; charset={encoding}")
    assert [link.url for link in found.links] == [f"http://a.example/%D0%B6?{query}"]


@pytest.mark.req("D13")
def test_what_the_page_says_to_robots_is_kept_for_the_policy() -> None:
    html = """<META NAME=Robots CONTENT="NoFollow"><meta name=viewport content=w><meta name=x>
    <meta content=y><template><meta name=no content=no></template>"""
    metas = page(html).metas
    assert metas == (("Robots", "NoFollow"), ("viewport", "w"))
    assert not may_follow("gossamer", [], metas)


@pytest.mark.req("D19")
def test_no_page_says_more_to_robots_than_anyone_would_read() -> None:
    metas = page(f"<meta name=robots content={'x' * 5_000}>" * 2_000).metas
    assert len(metas) == 1_000
    assert {len(content) for _, content in metas} == {1_000}


@pytest.mark.req("D9")
def test_pages_are_compared_by_what_is_seen_of_them() -> None:
    html = (
        "<title>t</title><style>s</style><p>a<b>b</b><!-- c --><noscript>n</noscript>"
        "<template>x</template><script>y</script>d<div>e"
    )
    assert HtmlTree(html).take_unspaced_text() == "abde"
