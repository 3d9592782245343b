"""A small closed site of which every page and depth is known: the classic testing plan."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model import Event, EventKind, Outcome
from gossamer.model.errors import CrawlError
from gossamer.testing import Reply, Web, min_gap_s

Crawl = Callable[..., tuple[dict[str, tuple[int, bytes]], list[Event]]]

# Cycles (a-b-c-a, e-e), links repeated within and across pages, a diamond, a tail.
LETTERS = {
    "/": ["/a.html", "/a.html", "/b.html", "http://elsewhere.test/"],
    "/a.html": ["/b.html", "/c.html", "/a.html", "/"],
    "/b.html": ["/c.html", "/d.html", "/c.html#part"],
    "/c.html": ["/a.html", "/e.html"],
    "/d.html": ["/e.html", "/f.html"],
    "/e.html": ["/e.html", "/"],
    "/f.html": ["/g.html"],
    "/g.html": ["/h.html"],
    "/h.html": [],
}


def letters(web: Web) -> None:
    site = web.site("letters.test")
    for path, links in LETTERS.items():
        site.page(path, links=links, title=path)


def expected(start: str, depth: int) -> dict[str, int]:
    """Breadth-first search over the table."""
    depths = {start: 0}
    line = deque([start])
    while line:
        page = line.popleft()
        if depths[page] == depth:
            continue
        for link in LETTERS[page]:
            path = link.partition("#")[0]
            if path.startswith("/") and path not in depths:
                depths[path] = depths[page] + 1
                line.append(path)
    return {f"http://letters.test{path}": found for path, found in depths.items()}


@pytest.mark.req("C5", "C13")
@pytest.mark.parametrize("start", ["/", "/c.html", "/f.html"])
@pytest.mark.parametrize("depth", range(6))
def test_exactly_the_pages_within_the_depth_at_their_shortest_depth(
    web: Web, crawl: Crawl, start: str, depth: int
) -> None:
    letters(web)
    saved, _ = crawl(f"http://letters.test{start}", depth, prefix="http://letters.test/")
    assert {url: found for url, (found, _) in saved.items()} == expected(start, depth)
    fetched = [record.path for record in web.requests_to("letters.test")]
    assert sorted(fetched) == sorted([*(url[19:] for url in saved), "/robots.txt"])


@pytest.mark.req("C7")
def test_the_body_is_what_the_server_meant(web: Web, crawl: Crawl) -> None:
    body = "<html>Grüße\r\n\r\n".encode("latin-1") + b"\x00\xff\n"
    web.site("a.test").reply(
        "/", Reply(headers={"Content-Type": "text/html; charset=latin-1"}, body=body)
    )
    saved, _ = crawl("http://a.test/", 0, first_id=0)
    assert saved["http://a.test/"] == (0, body)


@pytest.mark.req("C8")
def test_one_page_under_many_spellings_is_fetched_once(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    spellings = [
        "/b.html",
        "//a.test/b.html",
        "HTTP://A.TEST:80/b.html",
        "/x/../b.html#top",
        "/%62.html",
        "/./b.html",
        "http://a.test//b.html",
        "b.html",
    ]
    site.page("/", links=spellings)
    site.page("/b.html")
    saved, events = crawl("http://a.test/", 1)
    assert set(saved) == {"http://a.test/", "http://a.test/b.html"}
    kinds = [
        event.kind for event in events if event.kind in {EventKind.ADDED, EventKind.ALREADY_KNOWN}
    ]
    assert kinds == [EventKind.ADDED] + [EventKind.ALREADY_KNOWN] * (len(spellings) - 1)


@pytest.mark.req("C9")
def test_links_are_read_as_browsers_read_them(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page(
        "/",
        html="""<base href="/sub/"><!-- <a href="/comment.html"> -->
        <A HREF='x.html?a=1&amp;b=2'>one</a> <area href=y.html> <link href="/z.css">
        <a href="mailto:a@b.test">mail</a> <a href="javascript:void(0)">js</a>
        <a href="https://a.test/">other scheme</a> <a href=" /spaced.html
        ">spaced</a><p><a href="unclosed.html""",
    )
    for path in ("/sub/x.html?a=1&b=2", "/sub/y.html", "/spaced.html"):
        site.page(path)
    saved, events = crawl("http://a.test/", 1)
    assert set(saved) == {
        "http://a.test/",
        "http://a.test/sub/x.html?a=1&b=2",
        "http://a.test/sub/y.html",
        "http://a.test/spaced.html",
    }
    outside = [event.url for event in events if event.kind is EventKind.OUTSIDE]
    assert outside == ["mailto:a@b.test", "javascript:void(0)", "https://a.test/"]


@pytest.mark.req("C6")
def test_a_second_passes_between_any_two_fetches(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/b", "/gone"])
    site.redirect("/b", "/c")
    site.page("/c")
    crawl("http://a.test/", 1, delay_s=1.0)
    records = web.requests
    assert [one.path for one in records] == ["/robots.txt", "/", "/b", "/gone", "/c"]
    gap = min_gap_s(records)
    assert gap is not None
    assert gap >= 1.0


@pytest.mark.req("F4")
def test_robots_txt_is_obeyed_and_said(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /private/\nUser-agent: Gossamer\nDisallow: /no/")
    site.page("/", links=["/no/x", "/private/y"])
    site.page("/private/y")
    saved, events = crawl("http://a.test/", 1)
    assert set(saved) == {"http://a.test/", "http://a.test/private/y"}
    assert "/no/x" not in [record.path for record in web.requests]
    (denied,) = [event for event in events if event.outcome is Outcome.ROBOTS_DENIED]
    assert (denied.url, denied.detail) == ("http://a.test/no/x", "Disallow: /no/ (line 4)")


@pytest.mark.req("F4")
@pytest.mark.parametrize(
    "reply",
    [
        Reply(headers={"X-Robots-Tag": "noindex, nofollow"}, body=b"<a href=/b>b</a>"),
        Reply(body=b"<meta name=Robots content='NoFollow'><a href=/b>b</a>"),
    ],
)
def test_a_page_that_asks_so_is_saved_and_its_links_left(
    web: Web, crawl: Crawl, reply: Reply
) -> None:
    site = web.site("a.test")
    site.reply("/", reply)
    site.page("/b")
    saved, events = crawl("http://a.test/", 1)
    assert set(saved) == {"http://a.test/"}
    assert EventKind.NO_FOLLOW in [event.kind for event in events]


@pytest.mark.req("F4")
def test_a_crawl_delay_is_kept(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nCrawl-delay: 0.4")
    site.page("/", links=["/b"])
    site.page("/b")
    crawl("http://a.test/", 1)
    gap = min_gap_s(web.requests)
    assert gap is not None
    assert gap >= 0.4


@pytest.mark.req("C5")
def test_redirects_cost_no_depth_and_stay_inside(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/old", "/out", "/loop", "/long/0"])
    site.redirect("/old", "/new")
    site.page("/new", links=["/deep"])
    site.page("/deep")
    site.redirect("/out", "http://b.test/")
    web.site("b.test").page("/")
    site.redirect("/loop", "/loop2")
    site.redirect("/loop2", "/loop")
    for step in range(20):
        site.redirect(f"/long/{step}", f"/long/{step + 1}")
    saved, events = crawl("http://a.test/", 2)
    assert {url: depth for url, (depth, _) in saved.items()} == {
        "http://a.test/": 0,
        "http://a.test/new": 1,
        "http://a.test/deep": 2,
    }
    assert web.requests_to("b.test") == []
    assert [event.url for event in events if event.outcome is Outcome.BAD_REDIRECT] == [
        "http://a.test/long/10"
    ]


@pytest.mark.req("C11", "F6")
def test_a_later_page_that_fails_is_said_and_skipped(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/missing", "/broken", "/image", "/cut", "/good"])
    site.status("/broken", 500)
    site.reply("/image", Reply(headers={"Content-Type": "image/png"}, body=b"\x89PNG"))
    site.raw(
        "/cut", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\nhalf"
    )
    site.page("/good")
    saved, events = crawl("http://a.test/", 1)
    assert set(saved) == {"http://a.test/", "http://a.test/good"}
    assert [event.outcome for event in events if event.kind is EventKind.UNFETCHED] == [
        Outcome.NOT_FOUND,
        Outcome.SERVER_ERROR,
        Outcome.UNWANTED_TYPE,
        Outcome.CONNECTION_FAILED,
    ]
    assert len([one for one in web.requests if one.path == "/missing"]) == 1


@pytest.mark.req("C11")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/missing", "404"),
        ("/broken", "the server failed"),
        ("/image", "content type is not accepted"),
        ("/liar", "by its bytes it is"),
        ("/private", "Disallow: /private"),
        ("/out", "to http://b.test/, which is out of scope"),
        ("/round", "in a circle"),
    ],
)
def test_a_seed_that_yields_no_page_ends_the_crawl(
    web: Web, crawl: Crawl, tmp_path: Path, path: str, words: str
) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /private")
    site.status("/broken", 500)
    site.reply("/image", Reply(headers={"Content-Type": "image/png"}, body=b"\x89PNG"))
    site.reply("/liar", Reply(body=b"\x89PNG\r\n\x1a\n\x00\x00\x00"))
    site.redirect("/out", "http://b.test/")
    site.redirect("/round", "/round2")
    site.redirect("/round2", "/round")
    with pytest.raises(CrawlError, match=words):
        crawl(f"http://a.test{path}", 2, prefix="http://a.test/")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
