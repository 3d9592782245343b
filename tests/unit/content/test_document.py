"""What modules and outputs ask of a page."""

import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.content.html_tree import parse_tree
from gossamer.content.lazy_document import LazyDocument
from gossamer.content.metadata import metadata_of
from gossamer.content.page_parser import ParseRules, parse
from gossamer.content.parser_limits import PREFIX
from gossamer.model import Url
from gossamer.model.page import MicrodataItem, NoDocument, Table

PADDING = "<p>x" * 3_000
"""Makes a page large enough to have its elements renamed."""

ARTICLE = """<!doctype html><html lang=en><head><title>T</title>
<link rel="canonical" href="../c?x=1"><base href="/deep/er/">
<meta name=description content="What it  says"><meta name=author content="A. Writer">
<meta property=og:title content="Shared"><meta property=og:image content=i.png>
<meta property=og:site_name content="Site"><meta name=twitter:card content=summary>
<meta property=article:published_time content=2024-05-06><meta name=keywords content="a, b">
<meta property=article:modified_time content=2025-01-02><meta name=DC.Title content="Dublin">
<script type="application/ld+json">{"@type": "Article", "dateModified": "2020-02-02"}</script>
<script type="application/ld+json">{broken</script></head>
<body><nav><a href=/n>navigation</a></nav><article><h1>Head</h1>
<p>Some words, and more of them, lead to <a href="x.html">a link</a>, or two, and go on. </p>
<p>Some words, and more of them, un<b>believ</b>able ones, follow here, and the end.</p>
<p>A third one, which says little, makes it long enough to be the main content, at last.</p>
<p>Nobody, one hopes, will ever read all of this, but it is there, in case of doubt.</p>
</article>
<div itemscope itemtype="https://schema.org/Product"><b itemprop=name>Thing</b>
<div itemprop=offers itemscope><a itemprop=url href=buy>x</a></div></div>
<table><caption>Sizes</caption><thead><tr><th>name<th>size</thead>
<tr><td rowspan=2>a<td>1<tr><td> 2  x</table><script>hidden</script></body>"""


def document(source: str | bytes, content_type: str | None = "text/html") -> LazyDocument:
    body = source if isinstance(source, bytes) else source.encode()
    return LazyDocument(body, Url("http://a.test/dir/page"), content_type)


@pytest.mark.req("D12")
def test_elements_are_found_by_css_and_xpath() -> None:
    page = document(ARTICLE)
    assert [one.text for one in page.select("article > h1, nav a")] == ["navigation", "Head"]
    link = page.select_one("p a[href]")
    assert link is not None
    assert (link.text, link.attr("href")) == ("a link", "x.html")
    assert page.select_one("h6") is None
    assert page.xpath("//p/a/@href") == ["x.html"]
    assert page.xpath("count(//p)") == 4.0


def test_the_texts_of_a_page() -> None:
    page = document(ARTICLE)
    assert page.text().startswith("navigation Head Some words, and more of them, lead to a link")
    assert "unbelievable ones" in page.text()
    assert "hidden" not in page.text() + page.main_text() + page.markdown()
    assert page.main_text().startswith("Head\n")
    assert "navigation" not in page.main_text()
    assert page.markdown().startswith("# Head\n")
    assert "[a link](http://a.test/deep/er/x.html)" in page.markdown()


def test_a_page_without_much_text_is_its_own_main_content() -> None:
    links = "".join(f"<li><a href=/{number}>part {number}</a>" for number in range(50))
    page = document(f"<ul>{links}</ul><p>Copyright, by all of us, for ever and a day.</p>")
    assert "part 7" in page.main_text()
    assert "[part 7](http://a.test/7)" in page.markdown()


def test_what_a_page_says_about_itself() -> None:
    found = document(ARTICLE).metadata()
    expected = {
        "description": "What it says",
        "canonical": "http://a.test/deep/c?x=1",
        "author": "A. Writer",
        "site_name": "Site",
        "image": "http://a.test/deep/er/i.png",
        "published": "2024-05-06",
        "modified": "2025-01-02",
        "keywords": ("a", "b"),
        "dublin_core": {"dc.title": "Dublin"},
        "json_ld": ({"@type": "Article", "dateModified": "2020-02-02"},),
    }
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.open_graph["og:title"] == "Shared"
    assert found.open_graph["twitter:card"] == "summary"
    (item,) = found.microdata
    assert (item.type, item.properties["name"]) == ("https://schema.org/Product", ("Thing",))
    (offer,) = item.properties["offers"]
    assert isinstance(offer, MicrodataItem)
    assert offer.properties == {"url": ("http://a.test/deep/er/buy",)}
    assert msgspec.json.decode(msgspec.json.encode(found))["author"] == "A. Writer"


def test_dates_of_json_ld_count_where_there_are_no_others() -> None:
    graph = '{"@graph": [{"a": 1}, {"datePublished": "2001-01-01", "dateModified": "2002"}]}'
    found = document(f"<script type='application/ld+json'>{graph}</script>").metadata()
    assert (found.published, found.modified) == ("2001-01-01", "2002")


def test_tables_are_rows_of_texts_with_their_header() -> None:
    assert document(ARTICLE).tables() == (
        Table(("name", "size"), (("a", "1"), ("a", "2 x")), "Sizes"),
    )
    plain, nested, inner = document(
        "<table><tr><td>1<td>2</table><table></table>"
        "<table><tr><td>out<table><tr><th>in<tr><td>x</table></table>"
    ).tables()
    assert plain == Table((), (("1", "2"),))
    assert nested == Table((), (("out in x",),))
    assert inner == Table(("in",), (("x",),))


def test_the_lines_and_parts_of_a_cell_are_words_apart() -> None:
    (table,) = document(
        "<table><caption>1<br>2</caption><tr><td>3<br>4<td><p>5</p><p>6</p><td><i>7</i>8</table>"
    ).tables()
    assert table == Table((), (("3 4", "5 6", "78"),), "1 2")


def test_text_without_markup_is_text_and_nothing_else() -> None:
    page = document("a <b> c\n\n  d\n", "text/plain")
    assert page.text() == "a <b> c d"
    assert page.main_text() == page.markdown() == "a <b> c\n\n  d"
    assert (page.select("*"), page.select_one("html"), page.xpath("//*")) == ([], None, [])
    assert page.xpath("count(//p)") == 0.0
    assert (page.tables(), page.metadata().json_ld) == ((), ())


def test_what_is_neither_has_nothing_to_say() -> None:
    page = document(b"\x89PNG\r\n\x1a\n" + bytes(50), "image/png")
    assert (page.text(), page.main_text(), page.markdown()) == ("", "", "")
    assert (page.select("*"), page.tables()) == ([], ())


def test_a_page_that_was_made_without_a_document_says_nothing() -> None:
    page = NoDocument()
    assert (page.text(), page.main_text(), page.markdown()) == ("", "", "")
    assert (page.select("*"), page.select_one("*"), page.xpath("//*")) == ([], None, [])
    assert (page.tables(), page.metadata().description) == ((), None)


@pytest.mark.parametrize("body", [ARTICLE, "text"], ids=["html", "text"])
def test_a_wrong_expression_is_named(body: str) -> None:
    page = document(body, "text/html" if body is ARTICLE else "text/plain")
    for select in (page.select, page.select_one):
        with pytest.raises(ValueError, match=r"the CSS selector 'a\[\[' is wrong: expected an id"):
            select("a[[")
    with pytest.raises(ValueError, match=r"the XPath expression '//\[' is wrong: expected a node"):
        page.xpath("//[")


def test_a_page_is_parsed_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(source: str) -> turbohtml.Document:
        parsed.append(source)
        return parse_tree(source)

    monkeypatch.setattr("gossamer.content.html_tree.parse_tree", counted)
    page = document(ARTICLE)
    asked: list[Callable[[], object]] = [
        *(page.text, page.main_text, page.markdown, page.metadata, page.tables),
        *(lambda: page.select("p"), lambda: page.xpath("//p")),
    ]
    answers: list[object] = []
    threads = [threading.Thread(target=lambda ask=ask: answers.append(ask())) for ask in 3 * asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(answers), len(parsed)) == (21, 1)
    assert page.metadata() is page.metadata()
    assert len(page.select("script")) == 3, "the text was taken from a copy"


@pytest.mark.req("D9", "D19")
@pytest.mark.parametrize("page", ["{}", "<svg><style>{}</style></svg>"], ids=["html", "svg"])
def test_a_tag_of_10_mb_has_no_attributes(page: str) -> None:
    giant = f"<image{''.join(f' a{number}' for number in range(1_230_000))}>"
    found = document(f"<p id=before>x</p>{page.format(giant)}<p id=after>y</p>")
    assert 9_500_000 < len(giant) < 10_000_000
    assert found.xpath("count(//@*)") == 2.0
    assert [one.attr("id") for one in found.select("p")] == ["before", "after"]


@pytest.mark.req("D9", "D19")
def test_on_a_page_that_could_explode_elements_are_as_written() -> None:
    page = document(
        f"""<html lang=de><title>The <b > tag</title><body class=c>
        <p><b>bold</b> <a href="?<u >x</u >">l</a>
        <script type="application/ld+json">{{"a": "<b >x</b >"}}</script>{PADDING}"""
    )
    assert [one.text for one in page.select("p > b")] == ["bold"]
    link = page.select_one("a")
    assert link is not None
    assert link.attr("href") == "?<u >x</u >"
    assert page.metadata().json_ld == ({"a": "<b >x</b >"},)
    assert page.text().startswith("bold l x x x")
    assert PREFIX not in str(page.select_one("html"))
    (body,) = page.select("body")
    assert not page.select(f"{PREFIX}b, {PREFIX}a, {PREFIX}body, {PREFIX}html")
    assert body.select("p")


HOSTILE = {
    "a span bomb": "<table>" + "<tr><td colspan=1000 rowspan=1000>x" * 300,
    "wide and long": "<table><tr>" + "<td>x" * 5000 + "<tr><td>y" * 5000,
    "endless rows": "<table>" + "<tr><td rowspan=0 colspan=999999999999>x" * 500,
    "nested tables": "<table><tr><td>" * 400 + "word " * 20_000,
    "shared items": "<div itemscope itemref='a1 b1'></div>"
    + "".join(
        f"<div id={name}{level} itemprop=x itemscope itemref='a{level + 1} b{level + 1}'></div>"
        for level in range(1, 30)
        for name in "ab"
    ),
    "shared by many": "<div id=x>"
    + "<b itemprop=y>z</b>" * 1000
    + "</div>"
    + "<div itemscope itemref=x></div>" * 2000,
    "deep items": "<div itemscope>" + "<div itemprop=a itemscope>" * 450,
    "an item in itself": "<div itemscope id=a itemprop=b itemref=a></div>",
    "deep JSON": "<script type=application/ld+json>" + "[" * 900 + "]" * 900 + "</script>",
    "deeper JSON": "<script type=application/ld+json>" + "[" * 10**5 + "]" * 10**5 + "</script>",
    "half a character": '<script type=application/ld+json>{"a": "\\ud800"}</script>',
    "deep quotes": "<blockquote>" * 2000 + "<p>x</p>" * 2000,
    "deep divs": "<div>" * 50_000 + "<p>words, words and more words of text" * 1000,
    "many bolds": "<b>" * 800 + "<p>x" * 8000,
    "odd base": "<base href='http://[' ><link rel=canonical href='http://['>",
    "odd values": "<html lang='\x00'><meta property='' content=x><meta content=y><table><caption>",
}


@pytest.mark.req("D19")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_survived_in_bounded_time_and_memory(name: str) -> None:
    page = document(HOSTILE[name])
    texts = page.text(), page.main_text(), page.markdown()
    assert max(map(len, texts)) <= 50 * len(HOSTILE[name])
    assert sum(len(row) for table in page.tables() for row in table.rows) <= 400_000
    msgspec.json.encode(page.metadata())
    page.select("b p, td"), page.xpath("//b//p")


@pytest.mark.req("D19")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            "< > = / ' ! table tr td itemscope| itemref=a| id=a| itemprop=b| meta| content=x| "
            "name=dc.x| property=og:y| script rowspan=0| b".replace("|", "\t").split(" ")
        ),
        max_size=200,
    )
)
def test_any_bytes_are_survived(pieces: list[str]) -> None:
    page = document("".join(pieces))
    page.text(), page.main_text(), page.markdown(), page.tables(), page.metadata()


def test_the_text_is_that_of_the_parser_on_real_pages(docs_site: Path) -> None:
    for file in islice(sorted(docs_site.rglob("*.html")), 0, 2000, 100):
        body = file.read_bytes()
        url = Url("http://a.test/")
        text = LazyDocument(body, url, "text/html").text()
        page = parse(body, url=url, content_type="text/html", rules=ParseRules(with_text=True))
        assert text == page.text, file


def test_a_tree_is_not_changed_by_what_is_read_from_it() -> None:
    tree = turbohtml.parse(HOSTILE["shared items"])
    before = tree.serialize()
    metadata_of(tree, Url("http://a.test/"))
    assert tree.serialize() == before


@pytest.mark.req("D9")
def test_the_main_part_is_all_sections_and_no_menu() -> None:
    """One section reads best, and the others belong to the page as well."""
    section = "<section><h2>{0}</h2><p>{0} says this, that, and a lot more. {1}</p></section>"
    sections = "".join(section.format(f"Part{n}", "Indeed, it does. " * 12 * n) for n in (1, 9, 2))
    menu = "".join(f"<li><a href=/{n}>Menu entry {n}</a>" for n in range(40))
    page = f"""<body><header><a href=/>Home</a></header><ul>{menu}</ul><div><div>{sections}</div>
    <p>A last word of all, outside of the sections.</p><div class=toc><ul>{menu}</ul></div></div>
    <footer>Copyright by somebody or other, of course</footer>"""
    for text in (document(page.encode()).main_text(), document(page.encode()).markdown()):
        assert all(f"Part{n} says" in text for n in (1, 9, 2))
        assert "A last word of all" in text
        assert "Menu entry" not in text
        assert "Copyright" not in text


LINKS = "".join(f"<li><a href=/{n}>entry number {n}</a></li>" for n in range(30))
BESIDE = {
    "without spaces": (True, "<div><h2>一</h2><p>最初の節です。重要な文章があります。</p></div>"),
    "a heading": (True, "<h1>Titled</h1>"),
    "a heading in a box": (True, "<div><div><h1>Titled</h1></div></div>"),
    "no element": (True, "Words that are in no element of their own"),
    "a list in it": (True, f"<div><h2>H</h2><p>You may want to have some of these.{LINKS}</div>"),
    "a long link": (
        True,
        f"<p>Eight words all around <a href=/>{'nine ' * 9}</a> that are linked so.",
    ),
    "an anchor": (True, "<div><a id=x>A place that may be linked to, and is no link</a></div>"),
    "entries": (False, f"<div><h2>See also</h2><ul>{LINKS}</ul></div>"),
    "a path": (False, "<p>You are here: <a href=/>The home of it</a> | <a href=/a>the part</a>"),
    "titles": (False, "<div class=navheader>The title of this page once more</div>"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_says_something_beside_the_main_part_is_kept(name: str) -> None:
    is_kept, beside = BESIDE[name]
    main = "<p>The main part, which is long, says this, and that." * 9
    page = document(f"{beside}<div>{main}</div>")
    for text in (page.main_text(), page.markdown()):
        assert "The main part" in text
        assert (turbohtml.parse(beside).text[-6:] in text) is is_kept


def test_a_section_of_links_among_sections_of_its_kind_is_kept() -> None:
    """As the signals of a class are, which GTK-Doc lists as links."""
    part = "<div class=part><h2>{}</h2><div><table><tr><td>{}</table></div></div>"
    main = part.format("Details", "<p>The main part, which is long, says this, and that." * 9)
    aside = part.format("Shop", LINKS).replace("class=part", "class=box")
    page = document(f"{aside}<div>{part.format('Signals', LINKS)}{main}</div>")
    for text in (page.main_text(), page.markdown()):
        assert "Signals" in text
        assert "entry number 29" in text
        assert "Shop" not in text


def test_a_page_that_is_mostly_links_is_a_table_of_contents() -> None:
    entries = "".join(f"<li><a href=c{n}.html>Chapter entry {n}</a>" for n in range(60))
    start = f"<div><p>{'This book is free, and useful, we hope. ' * 8}</p></div>"
    site = f"<div><ul><li><a href=page>This page</a>{entries.replace('Chapter', 'Site')}</ul></div>"
    page = f"<nav>Top of it</nav>{site}<div>{start}<h2>Contents</h2><ul>{entries}</ul></div>"
    for text in (document(page.encode()).main_text(), document(page.encode()).markdown()):
        assert "This book is free" in text
        assert "Chapter entry 59" in text
        assert "Top of it" not in text
        assert "Site entry" not in text, "a menu with this page in it is one of the site"


def test_a_listing_in_a_table_of_one_cell_keeps_its_lines() -> None:
    page = document("<p>It says:<table><tr><td> <pre>if x:\n\n    go()</pre> </table><p>So it is.")
    assert page.markdown() == "It says:\n\n```\nif x:\n\n    go()\n```\n\nSo it is."
    assert page.main_text() == "It says:\n\nif x:\n\n    go()\n\nSo it is."
    assert [table.rows for table in page.tables()] == [(("if x: go()",),)]


LAID_OUT = {
    "one<center>two</center>three": ("one\n\ntwo\n\nthree", "one\n\ntwo\n\nthree"),
    "<form>one<fieldset><legend>two</legend>three</fieldset></form>four": (
        "one\n\ntwo\n\nthree\n\nfour",
        "one\n\ntwo\n\nthree\n\nfour",
    ),
    "<h2>one<button>two</button></h2>": ("one two", "## one two"),
    "<select><option>one<option>two</select>": ("one two", "one two"),
    "<svg><title>No</title><text>one</text><text>two</text></svg>": ("one two", "one two"),
    "one<iframe><p>No</p></iframe>": ("one", "one"),
    "one<noscript>No</noscript>two": ("onetwo", "onetwo"),
    "one<noscript><img alt=two src=/x></noscript>": ("one", "one ![two](http://a.test/x)"),
    "<xmp>one\n  <b></xmp>": ("one\n  <b>", "```\none\n  <b>\n```"),
    "<dir><li>one<li>two</dir>": ("* one\n* two", "- one\n- two"),
    "<ul>one<p>two<li>three</ul>": ("one\n\ntwo\n\nthree", "one\n\ntwo\n\n- three"),
    "<h2>one&nbsp;<b>two&nbsp;three</b></h2>": ("one two three", "## one **two three**"),
    "<table><tr><td>one<div>two</div>three</table>": (
        "one two three",
        "| one two three |\n| --- |",
    ),
    "<table><caption>one</caption><tr><td>two<td>three</table>": (
        "one\n\ntwo  three",
        "one\n\n| two | three |\n| --- | --- |",
    ),
}


@pytest.mark.parametrize("body", LAID_OUT)
def test_no_words_are_joined_or_lost_where_text_is_laid_out(body: str) -> None:
    page = document(body)
    assert (page.main_text(), page.markdown()) == LAID_OUT[body]


def test_a_table_that_is_html_in_markdown_has_no_empty_line_which_would_end_it() -> None:
    cells = "<td><p>one</p>\n \n    <p>two</p><td><pre>a\n\n  b</pre>"
    page = document(f"<table><tr><th colspan=2>h<tr>{cells}</table>")
    written = "<td><p>one</p>\n    <p>two</p></td><td><pre>a<br><br>  b</pre></td>"
    assert written in page.markdown()
    assert "one  two  a" in page.main_text()


def test_rows_that_are_the_main_part_are_a_table() -> None:
    row = "<tr><td>{0}<td>" + "A cell that is long, and says this, and that. " * 9
    rows = "".join(row.format(f"Name{n}") for n in range(3))
    page = document(f"<table><caption>Titled</caption><thead><tr><th>A<th>B<tbody>{rows}</table>")
    assert page.main_text().startswith("Titled\n\nA      B\nName0  A cell")
    assert page.markdown().startswith("Titled\n\n| A | B |\n| --- | --- |\n| Name0 | A cell")
