"""Crawls along other links than `<a>`: what is fetched, at which depth, and how it ends."""

from collections.abc import Callable

import pytest
from crawled import Crawled

from gossamer import Outcome
from gossamer.testing import Reply, Web
from gossamer.worker.settlements import MAX_REDIRECTS

Crawl = Callable[..., Crawled]
A = "http://a.test"

REFRESH = "<meta http-equiv=refresh content='{}'><p>{}"


def paths(crawled: Crawled) -> set[str]:
    return {url.removeprefix(A) for url in crawled.urls}


@pytest.fixture
def linked(web: Web) -> Web:
    """One page with a link of each kind."""
    html = """<link rel=next href=/next><link rel=canonical href=/canonical>
    <link rel=alternate href=/alternate><link rel=stylesheet href=/css><a href=/a>a</a>
    <iframe src=/iframe></iframe><img src=/img><script src=/js></script>
    <meta http-equiv=refresh content='60;url=/later'>"""
    fields = {"Content-Type": "text/html", "Link": "</header>; rel=prev"}
    site = web.site("a.test")
    site.reply("/", Reply(headers=fields, body=html))
    for path in ("/next", "/canonical", "/alternate", "/a", "/iframe", "/later", "/header"):
        site.page(path)
    return web


def test_by_default_all_that_leads_a_reader_to_another_page_is_followed(
    linked: Web, crawl: Crawl
) -> None:
    crawled = crawl(f"{A}/")
    assert paths(crawled) == {"/", "/next", "/a", "/iframe", "/later", "/header"}
    assert {one.depth for url, one in crawled.urls.items() if url != f"{A}/"} == {1}
    assert len(crawled.pages[0].links) == 5


@pytest.mark.parametrize(
    ("follow", "expected"),
    [
        ("a,area", {"/", "/a"}),
        (["canonical", "prev", "header"], {"/", "/canonical", "/header"}),
    ],
)
def test_follow_chooses_the_kinds(
    linked: Web, crawl: Crawl, follow: object, expected: set[str]
) -> None:
    assert paths(crawl(f"{A}/", follow=follow)) == expected


def test_a_page_that_gives_way_at_once_is_a_redirect_and_costs_no_depth(
    web: Web, crawl: Crawl
) -> None:
    site = web.site("a.test")
    site.page("/", html=REFRESH.format("0; url=/new", "moved"))
    site.page("/new", links=["/deep"])
    site.reply("/deep", Reply(headers={"Refresh": "5; url=/end"}, body="<p>wait"))
    site.page("/end")
    crawled = crawl(f"{A}/", depth=1)
    assert crawled.outcomes() == {
        f"{A}/": Outcome.REDIRECTED,
        f"{A}/new": Outcome.FETCHED,
        f"{A}/deep": Outcome.REDIRECTED,
        f"{A}/end": Outcome.FETCHED,
    }
    assert [(page.url, page.depth) for page in crawled.pages] == [(f"{A}/new", 0), (f"{A}/end", 1)]
    detail = next(one.detail for url, one in crawled.urls.items() if url == f"{A}/")
    assert detail == f"to {A}/new by a refresh"


@pytest.mark.req("D19")
def test_a_refresh_out_of_scope_is_not_followed_even_from_a_seed(web: Web, crawl: Crawl) -> None:
    web.site("a.test").page("/", html=REFRESH.format("0; url=http://b.test/", "x"))
    web.site("b.test").page("/")
    crawled = crawl(f"{A}/")
    assert crawled.outcomes() == {f"{A}/": Outcome.OUT_OF_SCOPE}
    assert {one.host for one in web.requests} == {"a.test"}


@pytest.mark.req("D19")
def test_refreshes_in_a_row_and_in_a_circle_end(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/0", "/round"])
    for number in range(20):
        site.page(f"/{number}", html=REFRESH.format(f"0; url=/{number + 1}", number))
    site.page("/round", html=REFRESH.format("0; url=/again", "round"))
    site.page("/again", html=REFRESH.format("0; url=/round", "again"))
    crawled = crawl(f"{A}/")
    assert crawled.outcome(f"{A}/{MAX_REDIRECTS}") is Outcome.BAD_REDIRECT
    assert f"{A}/{MAX_REDIRECTS + 1}" not in crawled.urls
    assert crawled.outcome(f"{A}/round") is crawled.outcome(f"{A}/again") is Outcome.REDIRECTED


def test_a_page_that_reloads_itself_or_says_nofollow_is_a_page(web: Web, crawl: Crawl) -> None:
    pages = {
        "/1": REFRESH.format("0; url=/1?utm_source=x", "the same page under another name"),
        "/2": REFRESH.format("0", "again and again"),
        "/3": REFRESH.format("0; url=/3#top", "again and again"),
        "/4": "<meta name=robots content=nofollow>" + REFRESH.format("0; url=/no", "stay"),
    }
    site = web.site("a.test")
    site.page("/", links=pages)
    for path, html in pages.items():
        site.page(path, html=html)
    crawled = crawl(f"{A}/")
    assert crawled.depths().keys() == crawled.urls.keys()
    assert paths(crawled) == {"/", *pages}
    assert [page.links for page in crawled.pages[1:]] == [()] * 4


def test_a_frameset_is_crawled(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", html="<frameset><frame src=toc><frame src=main></frameset>")
    site.page("/toc", links=["/x"])
    site.page("/main")
    site.page("/x")
    assert crawl(f"{A}/").depths() == {f"{A}/": 0, f"{A}/toc": 1, f"{A}/main": 1, f"{A}/x": 2}
