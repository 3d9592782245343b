import pytest

from gossamer.content import FoundLink, parse
from gossamer.content.refresh import refresh_target
from gossamer.model import Url


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/new", "/new"),
        ("0; URL = '/new page' ", "/new page"),
        ('5,"/new" ignored', "/new"),
        (" 3.5 ;/new", "/new"),
        ("0 /new", "/new"),
        (".5;x", "x"),
        ("0;url", "url"),
        ("0;url='/unclosed", "/unclosed"),
        ("30", None),
        ("30;", None),
        ("", None),
        ("soon;url=/new", None),
        ("5x;url=/new", None),
        ("-1;url=/new", None),
        ("9" * 100_000 + "x", None),
        (" " * 100_000, None),
    ],
)
def test_a_refresh_is_read_as_browsers_do(content: str, target: str | None) -> None:
    assert refresh_target(content) == target


@pytest.mark.req("D19")
def test_the_first_refresh_of_a_page_is_resolved_like_a_link_but_is_none() -> None:
    html = b"""<meta http-equiv=refresh content="30"><base href=/b/>
    <noscript><meta HTTP-EQUIV=Refresh content="0;url=new"></noscript>
    <meta http-equiv=refresh content="0;url=other"><a href=link>x</a>"""
    page = parse(html, url=Url("http://a.example/"), content_type="text/html")
    assert page.refresh == FoundLink("new", Url("http://a.example/b/new"))
    assert [link.href for link in page.links] == ["link"]


@pytest.mark.req("D19")
def test_a_refresh_to_something_harmful_leads_nowhere() -> None:
    html = b'<meta http-equiv=refresh content="0;url=javascript:alert(1)">'
    page = parse(html, url=Url("http://a.example/"), content_type="text/html")
    assert page.refresh == FoundLink("javascript:alert(1)", None)
