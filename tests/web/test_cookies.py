"""Which cookies an answer sets and which a request sends, by RFC 6265: on the wire.

The cases are those of the RFC's sections 5.1.3, 5.1.4, 5.2, 5.3 and 5.4, and of its successor for
the prefixes of names.
"""

import asyncio

import pytest

from gossamer.download.client import Client
from gossamer.download.connections import RequestCookies
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Reply, Web

SETTER = "http://www.a.test/docs/page"
HOUR = "Expires=Wed, 01 Jan 2098 00:00:00 GMT"
PAST = "Expires=Thu, 01 Jan 1970 00:00:01 GMT"


class Browser:
    """A client with the cookies that it was given so far."""

    def __init__(self, web: Web, allowed: AddressPolicy, options: FetchOptions) -> None:
        self._web, self._allowed, self._options = web, allowed, options
        self.cookies = RequestCookies([])

    def visit(self, *urls: str, accept: Accept = Accept.PAGE, with_cookies: bool = True) -> str:
        """Ask for URLs in one client; return the cookies that the last request sent."""

        async def run() -> None:
            async with Client(self._options, self._allowed, self._web.dns) as client:
                for url in urls:
                    cookies = self.cookies if with_cookies else None
                    await client.fetch(Url(url), accept, cookies=cookies)

        asyncio.run(run())
        return self._web.requests[-1].headers.get("cookie") or ""


@pytest.fixture
def browser(web: Web, allowed: AddressPolicy, patient: FetchOptions) -> Browser:
    for name in ("www.a.test", "a.test", "sub.www.a.test", "b.test", "a.co.uk", "b.co.uk"):
        web.site(name).page("/")
    return Browser(web, allowed, patient)


def set_cookies(web: Web, *fields: str, host: str = "www.a.test") -> None:
    headers = [("Set-Cookie", field) for field in fields]
    web.site(host).reply("/docs/page", Reply(headers=headers, body="page"))


@pytest.mark.parametrize(
    ("field", "url", "sent"),
    [
        # 5.2: name and value
        ("x=1", SETTER, "x=1"),
        (" x = 1 ; Secure=", "http://www.a.test/docs/", ""),
        ("x=a=b", SETTER, "x=a=b"),
        ('x="1 2"', SETTER, 'x="1 2"'),
        ("x=", SETTER, "x="),
        ("=1", SETTER, ""),
        ("x=1; Unknown=2; HttpOnly; SameSite=Strict", SETTER, "x=1"),
        # 5.1.4: paths, and the default one
        ("x=1", "http://www.a.test/docs/other?q", "x=1"),
        ("x=1", "http://www.a.test/docs", "x=1"),
        ("x=1", "http://www.a.test/", ""),
        ("x=1", "http://www.a.test/documents", ""),
        ("x=1; Path=/", "http://www.a.test/", "x=1"),
        ("x=1; Path=/doc", SETTER, ""),
        ("x=1; Path=relative", SETTER, "x=1"),
        # 5.1.3: domains; without one it is for the host alone
        ("x=1; Path=/", "http://sub.www.a.test/", ""),
        ("x=1; Path=/", "http://a.test/", ""),
        ("x=1; Path=/; Domain=a.test", "http://sub.www.a.test/", "x=1"),
        ("x=1; Path=/; Domain=.A.TEST", "http://a.test/", "x=1"),
        ("x=1; Path=/; Domain=a.test", "http://b.test/", ""),
        ("x=1; Domain=b.test", "http://b.test/docs/", ""),
        ("x=1; Domain=sub.www.a.test", SETTER, ""),
        ("x=1; Domain=test", SETTER, ""),
        # 5.3: expiry
        (f"x=1; {HOUR}", SETTER, "x=1"),
        (f"x=1; {PAST}", SETTER, ""),
        ("x=1; Max-Age=60", SETTER, "x=1"),
        ("x=1; Max-Age=0", SETTER, ""),
        (f"x=1; Max-Age=60; {PAST}", SETTER, "x=1"),
        # 5.4 and the prefixes: what is secure neither comes nor goes over an open line
        ("x=1; Secure", SETTER, ""),
        ("__Secure-x=1; Secure", SETTER, ""),
        ("__Host-x=1; Path=/", SETTER, ""),
        ("x=" + "y" * 4200, SETTER, ""),
        ("x=1\x01", SETTER, ""),
    ],
)
def test_what_is_set_and_sent(web: Web, browser: Browser, field: str, url: str, sent: str) -> None:
    set_cookies(web, field)
    browser.visit(SETTER)
    assert browser.visit(url) == sent


def test_a_public_suffix_gets_no_cookie(web: Web, browser: Browser) -> None:
    set_cookies(web, "x=1; Domain=co.uk; Path=/", "y=2; Domain=a.co.uk; Path=/", host="a.co.uk")
    browser.visit("http://a.co.uk/docs/page")
    assert browser.visit("http://a.co.uk/") == "y=2"
    assert browser.visit("http://b.co.uk/") == ""


def test_a_cookie_is_replaced_and_deleted(web: Web, browser: Browser) -> None:
    set_cookies(web, "x=1", "y=1", "x=2; Path=/docs", f"y=; {PAST}")
    browser.visit(SETTER)
    assert browser.visit(SETTER) == "x=2"


def test_the_longest_path_goes_first(web: Web, browser: Browser) -> None:
    set_cookies(web, "x=1; Path=/", "y=2; Path=/docs", "z=3; Path=/docs/page")
    browser.visit(SETTER)
    assert browser.visit(SETTER) == "z=3; y=2; x=1"


def test_a_handle_remembers_nothing(web: Web, browser: Browser) -> None:
    """Not from one request to the next, nor to one without cookies, such as for robots.txt."""
    set_cookies(web, "x=1; Path=/")
    browser.visit(SETTER)
    assert len(browser.cookies.lines) == 1
    assert "x" not in repr(browser.cookies).removeprefix("<RequestCookies")
    assert browser.visit(SETTER, SETTER, with_cookies=False) == ""

    async def run() -> None:
        async with Client(browser._options, browser._allowed, web.dns) as client:
            await client.fetch(Url(SETTER), cookies=browser.cookies)
            await client.fetch(Url(SETTER), Accept.ANYTHING)
            await client.fetch(Url(SETTER), Accept.ANYTHING)
            await client.fetch(Url(SETTER), cookies=RequestCookies([]))

    asyncio.run(run())
    assert [one.headers.get("cookie") for one in web.requests[-4:]] == ["x=1", None, None, None]
