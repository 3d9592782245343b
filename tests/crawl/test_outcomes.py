"""How URLs end: each exactly once, under its own name, and at what price in requests."""

from collections import Counter
from collections.abc import Callable

import pytest
from crawled import Crawled

from gossamer import Outcome
from gossamer.testing import Close, KeepOpen, Pause, Repeat, Reply, Reset, Web

Crawl = Callable[..., Crawled]

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def asked(web: Web, path: str) -> int:
    return Counter(record.path for record in web.requests)[path]


@pytest.mark.req("D8", "D13", "F6")
@pytest.mark.parametrize(
    ("answer", "outcome", "requests"),
    [
        (Reply(status=404), Outcome.NOT_FOUND, 1),
        (Reply(status=410), Outcome.GONE, 1),
        (Reply(status=403), Outcome.CLIENT_ERROR, 1),
        (Reply(status=500), Outcome.SERVER_ERROR, 2),
        (Reply(status=204), Outcome.BAD_HTTP, 1),
        (Reply(headers={"Content-Type": "image/png"}, body=b"\x89PNG"), Outcome.UNWANTED_TYPE, 1),
        (Reply(body=b"\x89PNG\r\n\x1a\n\0\0\0"), Outcome.UNWANTED_TYPE, 1),
        (Reply(body=b"x" * 2001), Outcome.TOO_LARGE, 1),
        (Reply(body=b"x" * 2000), Outcome.FETCHED, 1),
        (Reply(status=301), Outcome.BAD_REDIRECT, 1),
        (Reply(status=301, headers={"Location": "mailto:a@b.test"}), Outcome.BAD_REDIRECT, 1),
    ],
    ids=str,
)
def test_an_answer_has_its_outcome(
    web: Web, crawl: Crawl, answer: Reply, outcome: Outcome, requests: int
) -> None:
    web.site("a.test").page("/", links=["/x", "/x#again"])
    web.site("a.test").reply("/x", answer)
    crawled = crawl("http://a.test/", max_page_bytes=2000)
    assert crawled.outcome("http://a.test/x") is outcome
    assert asked(web, "/x") == requests
    assert crawled.summary.ended_by == "complete"
    assert crawled.summary.snapshot.finished == 2


@pytest.mark.req("D8")
@pytest.mark.parametrize(("given", "requests"), [({}, 2), ({"retries": 0}, 1), ({"retries": 3}, 4)])
def test_a_failure_is_tried_again_as_often_as_wanted(
    web: Web, crawl: Crawl, given: dict[str, int], requests: int
) -> None:
    web.site("a.test").status("/", 500)
    assert crawl("http://a.test/", **given).outcome("http://a.test/") is Outcome.SERVER_ERROR
    assert asked(web, "/") == requests


@pytest.mark.req("D8", "D19")
@pytest.mark.parametrize(
    ("steps", "outcome", "requests"),
    [
        ([KeepOpen()], Outcome.TIMED_OUT, 2),
        ([HTML, b"Content-Length: 9\r\n\r\nhalf", KeepOpen()], Outcome.TIMED_OUT, 2),
        ([HTML, b"\r\n", Repeat(b"a", every_s=0.05)], Outcome.TIMED_OUT, 1),
        ([HTML, b"\r\n", Repeat(b"a" * 1000)], Outcome.TOO_LARGE, 1),
        # Each attempt is on a kept connection first, and then on a new one.
        ([Reset()], Outcome.CONNECTION_FAILED, 4),
        ([HTML, b"Content-Length: 9\r\n\r\nhalf", Close()], Outcome.CONNECTION_FAILED, 2),
        ([Pause(0.05), b"who knows\r\n\r\n", Close()], Outcome.BAD_HTTP, 1),
    ],
    ids=["silent", "stuck", "trickling", "endless", "reset", "cut", "babble"],
)
def test_a_server_that_misbehaves_costs_two_attempts_at_most(
    web: Web, crawl: Crawl, steps: list[bytes | KeepOpen], outcome: Outcome, requests: int
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/x", "/after"])
    site.raw("/x", *steps)
    site.page("/after")
    crawled = crawl("http://a.test/", timeout="300ms", max_page_bytes="50kB", scorer="fifo")
    assert crawled.outcome("http://a.test/x") is outcome
    assert asked(web, "/x") == requests
    assert crawled.outcome("http://a.test/after") is Outcome.FETCHED


@pytest.mark.req("D8")
def test_a_second_attempt_may_succeed(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/shaky"])
    site.reply("/shaky", Reply(status=502), Reply(body="<a href=/more>m</a>"))
    site.page("/more")
    crawled = crawl("http://a.test/")
    assert crawled.summary.snapshot.outcomes == {"fetched": 3}
    assert crawled.urls[crawled.pages[1].url].attempts == 2


def test_a_host_that_is_not_there_is_reported_as_that(web: Web, crawl: Crawl) -> None:
    web.site("a.test").page("/", links=["http://nowhere.test/"])
    crawled = crawl("http://a.test/", scope="any")
    assert crawled.outcome("http://nowhere.test/") is Outcome.DNS_FAILED


@pytest.mark.req("B6")
def test_an_address_inside_is_not_contacted_because_a_page_says_so(web: Web, crawl: Crawl) -> None:
    web.site("a.test").page("/", links=["http://127.0.0.2/x"])
    crawled = crawl("http://a.test/", scope="any")
    assert crawled.outcome("http://127.0.0.2/x") is Outcome.ADDRESS_REFUSED
    assert {one.host for one in web.requests} == {"a.test"}


@pytest.mark.req("D13")
def test_a_redirect_out_of_scope_is_reported_and_not_followed(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/out", "/in"])
    site.redirect("/out", "http://b.test/")
    site.redirect("/in", "/page")
    site.page("/page")
    web.site("b.test").page("/")
    crawled = crawl("http://a.test/")
    assert crawled.outcome("http://a.test/out") is Outcome.OUT_OF_SCOPE
    assert crawled.outcome("http://a.test/in") is Outcome.REDIRECTED
    assert web.requests_to("b.test") == []
    assert "http://b.test/" not in crawled.urls


def test_a_redirect_to_another_spelling_of_the_same_url_is_followed(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", ["/p?utm_source=x", "/loop?utm_source=x"])
    site.redirect("/p?utm_source=x", "/p")
    site.page("/p", ["/behind"], text="what was asked for")
    site.page("/behind", text="behind")
    site.redirect("/loop?utm_source=x", "/loop")
    site.redirect("/loop", "/loop?utm_source=x")

    crawled = crawl("http://a.test/")

    assert crawled.outcome("http://a.test/p?utm_source=x") is Outcome.FETCHED
    assert crawled.outcome("http://a.test/behind") is Outcome.FETCHED
    assert crawled.outcome("http://a.test/loop?utm_source=x") is Outcome.REDIRECTED


@pytest.mark.req("D19")
@pytest.mark.parametrize("workers", [1, 4])
def test_redirects_that_go_round_or_on_for_ever_end(web: Web, crawl: Crawl, workers: int) -> None:
    site = web.site("a.test")
    site.page("/", links=["/self", "/a", "/endless/0"])
    site.redirect("/self", "/self")
    site.redirect("/a", "/b")
    site.redirect("/b", "/a")
    site.under(
        "/endless/",
        lambda target: Reply(
            status=302, headers={"Location": f"/endless/{int(target.rpartition('/')[2]) + 1}"}
        ),
    )
    crawled = crawl("http://a.test/", workers=workers)
    assert crawled.summary.ended_by == "complete"
    assert asked(web, "/self") == asked(web, "/a") == asked(web, "/b") == 1
    endless = [one for one in web.requests if one.path.startswith("/endless/")]
    assert len(endless) == 11
    assert crawled.outcome("http://a.test/endless/10") is Outcome.BAD_REDIRECT


@pytest.mark.req("F2", "F7")
def test_links_come_from_between_the_markers_only(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    mark = "<!-- CONTENT -->"
    site.page("/", html=f"<a href=/no>n</a>{mark}<a href=/yes>y</a>{mark}<a href=/nor>n</a>")
    site.page("/yes", html="<a href=/unmarked>u</a>")
    crawled = crawl("http://a.test/", markers=mark)
    assert set(crawled.urls) == {"http://a.test/", "http://a.test/yes"}


@pytest.mark.req("F4")
@pytest.mark.parametrize(
    "answer",
    [
        Reply(headers={"X-Robots-Tag": "nofollow"}, body="<a href=/b>b</a>"),
        Reply(body="<meta name=gossamer content=nofollow><a href=/b>b</a>"),
    ],
    ids=["header", "meta"],
)
def test_a_page_that_asks_so_is_kept_and_its_links_left(
    web: Web, crawl: Crawl, answer: Reply
) -> None:
    web.site("a.test").reply("/", answer)
    crawled = crawl("http://a.test/")
    assert set(crawled.urls) == {"http://a.test/"}
    assert len(crawled.pages) == 1


@pytest.mark.req("D13", "F7", "C8")
def test_a_link_is_known_under_all_its_spellings(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    spellings = ["/b", "HTTP://A.TEST:80/b", "/x/../b", "/%62", "b#top", "//a.test/b"]
    site.page("/", links=[*spellings, "javascript:alert(1)", "mailto:a@b.test", "http://[", "/c"])
    site.page("/b", links=spellings)
    site.page("/c", links=["/b", "/"])
    crawled = crawl("http://a.test/")
    assert set(crawled.urls) == {f"http://a.test/{name}" for name in ("", "b", "c")}
    assert Counter(one.path for one in web.requests).most_common(1)[0][1] == 1


@pytest.mark.req("D9")
def test_the_same_content_is_kept_once_and_its_links_with_it(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/two"])
    for path in ("/one", "/two"):
        site.page(path, html="<p>duplicate</p><a href=/more>more</a>")
    site.page("/more")
    crawled = crawl("http://a.test/", similarity="0.9")
    assert crawled.summary.snapshot.outcomes == {"fetched": 3, "duplicate": 1}
    (duplicate_of,) = [one for one in crawled.urls.values() if one.outcome is Outcome.DUPLICATE]
    assert duplicate_of.page_id is None
    assert len(crawled.pages) == 3


@pytest.mark.req("F5")
def test_seen_is_visited_at_the_end(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=[f"/{number}" for number in range(30)])
    for number in range(30):
        site.page(f"/{number}", links=[f"/{(number * 7) % 30}", "/"])
    crawled = crawl("http://a.test/", workers=3, host_connections=3)
    snapshot = crawled.summary.snapshot
    assert (snapshot.waiting, snapshot.in_progress, snapshot.finished) == (0, 0, 31)
    assert set(crawled.urls) == {page.url for page in crawled.pages}
