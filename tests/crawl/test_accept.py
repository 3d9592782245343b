"""Crawls that keep more than pages: what is asked for, kept, refused and left unread."""

from collections.abc import Callable

import pytest
from crawled import Crawled

from gossamer import Outcome
from gossamer.testing import Reply, Web

Crawl = Callable[..., Crawled]
A = "http://a.test"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PDF = b"%PDF-1.7\n<a href=/no>no</a>"
XML = b"<?xml version='1.0'?><rss><a href='/no'/></rss>"


def typed(content_type: str | None, body: bytes, **fields: str) -> Reply:
    given = {} if content_type is None else {"Content-Type": content_type}
    return Reply(headers={**given, **fields}, body=body)


@pytest.fixture
def filed(web: Web) -> Web:
    """A page with files of many kinds."""
    files = {
        "/i.png": typed("image/png", PNG),
        "/p.pdf": typed("application/pdf", PDF),
        "/f.xml": typed("application/rss+xml", XML),
        "/d.json": typed("application/json", b"{}"),
        "/s.css": typed("text/css", b"a {}"),
        "/t.txt": typed("text/plain", b"a text"),
        "/unknown": typed("application/octet-stream", PDF),
        "/program": typed("application/octet-stream", b"\x7fELF"),
        "/events": typed("text/event-stream", b"data: x\n\n"),
        "/lost.png": typed("image/png", b"<!doctype html><h1>Not found</h1>"),
    }
    html = "<link rel=stylesheet href=/s.css><img src=/i.png>"
    html += "".join(f"<a href={path}>x</a>" for path in files if path not in {"/i.png", "/s.css"})
    site = web.site("a.test")
    site.page("/", html=html)
    for path, answer in files.items():
        site.reply(path, answer)
    return web


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    ("accept", "kept"),
    [
        ("html,text", {"/": "html", "/t.txt": "text"}),
        (["pdf"], {"/": "html", "/p.pdf": "pdf", "/unknown": "pdf"}),
        ("text,image", {"/": "html", "/t.txt": "text", "/i.png": "image"}),
        (
            "any",
            {
                "/": "html",
                "/t.txt": "text",
                "/i.png": "image",
                "/p.pdf": "pdf",
                "/unknown": "pdf",
                "/f.xml": "xml",
                "/d.json": "json",
                "/s.css": "css",
                "/program": "other",
                "/lost.png": "other",
            },
        ),
    ],
    ids=str,
)
def test_what_is_accepted_is_kept_and_nothing_else(
    filed: Web, crawl: Crawl, accept: object, kept: dict[str, str]
) -> None:
    crawled = crawl(f"{A}/", accept=accept)
    assert {page.url.removeprefix(A): str(page.kind) for page in crawled.pages} == kept
    others = {outcome for url, outcome in crawled.outcomes().items() if url[len(A) :] not in kept}
    assert others <= {Outcome.UNWANTED_TYPE}
    assert crawled.outcome(f"{A}/events") is Outcome.UNWANTED_TYPE, "it would never end"
    assert f"{A}/no" not in crawled.urls, "links of what is no page are not read"


def test_a_file_reaches_modules_as_it_is_and_unread(filed: Web, crawl: Crawl) -> None:
    pages = {str(page.url): page for page in crawl(f"{A}/", accept="image,xml").pages}
    image, feed = pages[f"{A}/i.png"], pages[f"{A}/f.xml"]
    assert (image.body, image.text, image.links, image.title) == (PNG, "", (), "")
    assert (feed.body, feed.text, feed.links) == (XML, "", ())
    assert (image.content_type, image.depth) == ("image/png", 1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1"),
        ({"accept": "image"}, "text/html,application/xhtml+xml,image/*;q=0.9,*/*;q=0.1"),
    ],
)
def test_servers_are_told_what_is_wanted(
    filed: Web, crawl: Crawl, given: dict[str, str], field: str
) -> None:
    crawl(f"{A}/", depth=0, **given)
    assert {one.headers.get("accept") for one in filed.requests} == {field}


def test_accept_leads_to_the_links_that_need_it_unless_follow_says_otherwise(
    filed: Web, crawl: Crawl
) -> None:
    crawled = crawl(f"{A}/", accept="image,css", follow="a")
    assert f"{A}/t.txt" in crawled.urls
    assert not {f"{A}/i.png", f"{A}/s.css"} & crawled.urls.keys()


@pytest.mark.req("D8")
def test_files_have_a_limit_of_their_own(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    names = ["/small", "/announced", "/chunked", "/page"]
    site.page("/", links=names)
    site.reply("/small", typed("application/pdf", PDF + b"x" * 2000))
    site.reply("/announced", typed("application/pdf", PDF + b"x" * 4000))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nConnection: close\r\n\r\n"
    site.raw("/chunked", head + PDF + b"x" * 4000)
    site.page("/page", text="x" * 1500)
    crawled = crawl(f"{A}/", accept="pdf", max_page_bytes=1000, max_file_bytes=3000)
    outcomes = [
        crawled.urls[url].outcome for name in names for url in crawled.urls if url == A + name
    ]
    large = Outcome.TOO_LARGE
    assert outcomes == [Outcome.FETCHED, large, large, large]
    causes = {str(one.cause.name) for one in crawled.summary.snapshot.causes}
    assert causes == {"FILE_TOO_LARGE", "BODY_TOO_LARGE"}


def test_text_xml_is_a_text_unless_xml_is_asked_for(web: Web, crawl: Crawl) -> None:
    web.site("a.test").reply("/", typed("text/xml", XML))
    (page,) = crawl(f"{A}/", accept="html,text").pages
    assert (page.kind, page.text) == ("text", XML.decode())


def test_files_are_compared_by_their_bytes_only(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    words = b" ".join(b"word%d" % number for number in range(200))
    site.page("/", links=["/1", "/2", "/3"])
    site.reply("/1", typed("application/json", b'["%b"]' % words))
    site.reply("/2", typed("application/json", b'["%b"]' % words))
    site.reply("/3", typed("application/json", b'["%b!"]' % words))
    crawled = crawl(f"{A}/", accept="json", similarity=0.5)
    ends = sorted(str(crawled.outcome(f"{A}/{number}")) for number in (1, 2, 3))
    assert ends == ["duplicate", "fetched", "fetched"]
