"""Cookies of a crawl: off unless asked for, kept in the store, and what stands behind a wall."""

from collections import Counter
from collections.abc import Callable

import pytest
from crawled import Crawled

from gossamer import Outcome
from gossamer.testing import Reply, Web

Crawl = Callable[..., Crawled]

SECRET = "tasty"  # noqa: S105 -- that of a cookie
DOMAIN_COOKIE = f"session={SECRET}; Domain=a.test; Path=/"


def sent(web: Web, path: str) -> list[str | None]:
    """Return the cookies of each request for a path."""
    return [one.headers.get("cookie") for one in web.requests if one.path == path]


def wall(web: Web, host: str, path: str, *, sets: str | None = None) -> None:
    """Describe a page that only those with a cookie see; others are sent to get one, and back."""
    site = web.site(host)

    def page(_: str) -> Reply:
        if SECRET in (web.requests[-1].headers.get("cookie") or ""):
            return Reply(body=f"behind the wall <a href='{path}/more'>more</a>")
        return Reply(status=302, headers={"Location": f"/set?back={path}"})

    def more(_: str) -> Reply:
        return Reply(body="more")

    site.under(path, page)
    site.under(f"{path}/more", more)
    headers = {"Location": path, "Set-Cookie": DOMAIN_COOKIE if sets is None else sets}
    site.reply("/set", Reply(status=302, headers=headers))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_page_behind_a_cookie_wall_is_fetched(web: Web, crawl: Crawl, workers: int) -> None:
    wall(web, "www.a.test", "/page")
    crawled = crawl("http://www.a.test/page", cookies=True, workers=workers)
    assert crawled.outcomes() == {
        "http://www.a.test/page": Outcome.FETCHED,
        "http://www.a.test/set?back=/page": Outcome.REDIRECTED,
        "http://www.a.test/page/more": Outcome.FETCHED,
    }
    assert sent(web, "/page") == [None, f"session={SECRET}"]
    assert sent(web, "/robots.txt") == [None]
    assert crawled.depths() == {"http://www.a.test/page": 0, "http://www.a.test/page/more": 1}


def test_without_the_option_no_cookie_is_kept(web: Web, crawl: Crawl) -> None:
    wall(web, "www.a.test", "/page")
    crawled = crawl("http://www.a.test/page")
    assert set(crawled.outcomes().values()) == {Outcome.REDIRECTED}
    assert sent(web, "/page") == [None]


def test_a_page_that_redirects_to_itself_with_a_cookie(web: Web, crawl: Crawl) -> None:
    headers = {"Location": "/", "Set-Cookie": DOMAIN_COOKIE}
    web.site("a.test").reply("/", Reply(status=302, headers=headers), Reply(body="welcome"))
    crawled = crawl("http://a.test/", cookies=True)
    assert crawled.outcome("http://a.test/") is Outcome.FETCHED
    assert sent(web, "/") == [None, f"session={SECRET}"]


@pytest.mark.parametrize("target", ["/", "/other"])
def test_a_server_that_never_has_enough_cookies(web: Web, crawl: Crawl, target: str) -> None:
    """Each answer sets another one and redirects; in the end nothing is left."""
    count = Counter[str]()

    def answer(path: str) -> Reply:
        count[path] += 1
        leads_to = target if path == "/" else "/"
        cookie = f"c{count.total()}=1; Path=/"
        return Reply(status=302, headers={"Location": leads_to, "Set-Cookie": cookie})

    web.site("a.test").under("/", answer)
    web.site("a.test").status("/robots.txt", 404)
    crawled = crawl("http://a.test/", cookies=True)
    assert set(crawled.outcomes().values()) == {Outcome.REDIRECTED}
    assert count["/"] == 2
    assert crawled.summary.snapshot.ended_by == "complete"


def test_hosts_of_a_domain_share_cookies_and_others_get_none(web: Web, crawl: Crawl) -> None:
    links = "<a href='http://shop.a.test/'>a</a> <a href='http://b.test/'>b</a>"
    web.site("www.a.test").reply("/", Reply(headers={"Set-Cookie": DOMAIN_COOKIE}, body=links))
    web.site("shop.a.test").page("/")
    web.site("b.test").page("/", text="of somebody else")
    crawl("http://www.a.test/", scope="any", cookies=True)
    by_host = {one.host: one.headers.get("cookie") for one in web.requests if one.path == "/"}
    assert by_host == {"www.a.test": None, "shop.a.test": f"session={SECRET}", "b.test": None}


def test_the_jar_outlasts_a_run(web: Web, crawl: Crawl) -> None:
    body = "<a href='/next'>next</a>"
    web.site("a.test").reply("/", Reply(headers={"Set-Cookie": DOMAIN_COOKIE}, body=body))
    web.site("a.test").page("/next")
    crawl("http://a.test/", cookies=True, max_pages=1)
    crawl("http://a.test/", cookies=True)
    assert sent(web, "/next") == [f"session={SECRET}"]


def test_rules_say_which_hosts_have_cookies(web: Web, crawl: Crawl) -> None:
    for name in ("a.test", "b.test"):
        cookie = {"Set-Cookie": f"session={SECRET}; Path=/"}
        web.site(name).reply("/", Reply(headers=cookie, body="<a href='/next'>next</a>"))
        web.site(name).page("/next")
    crawl("http://a.test/", "http://b.test/", host={"b.test": {"cookies": True}})
    by_host = {one.host: one.headers.get("cookie") for one in web.requests if one.path == "/next"}
    assert by_host == {"a.test": None, "b.test": f"session={SECRET}"}
