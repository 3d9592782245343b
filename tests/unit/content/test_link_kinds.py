"""The kinds of links on real markup: which of them a page has, and where they lead."""

import pytest

from gossamer.content.markers import Markers
from gossamer.content.page_parser import ParsedPage, ParseRules, parse
from gossamer.model import Headers, Url
from gossamer.model.names import LinkKind
from gossamer.policy.content_kinds import HYPERLINKS, USUAL

PAGE = Url("http://a.example/dir/page")
EVERY = frozenset(LinkKind)


def page(
    html: str,
    follow: frozenset[LinkKind] = EVERY,
    *,
    markers: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> ParsedPage:
    rules = ParseRules(Markers.parse(markers) if markers else None, follow=follow)
    content_type = "text/html; charset=utf-8"
    return parse(
        html.encode(), url=PAGE, content_type=content_type, rules=rules, headers=Headers(headers)
    )


def links(html: str, follow: frozenset[LinkKind] = EVERY) -> list[tuple[str, str]]:
    return [(str(link.kind), link.href) for link in page(html, follow).links]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=x>x</a><map><area href=y></map>", ["a x", "area y"]),
        (
            "<html><frameset cols='20%,80%'><frame src=toc.html name=toc><frame src=main.html>"
            "<noframes><a href=no>no</a></noframes></frameset>",
            ["frame toc.html", "frame main.html"],
        ),
        ("<iframe src=' x '></iframe><iframe srcdoc='<a href=no>'></iframe>", ["iframe x"]),
        ("<link rel=next href=2><link rel='Prev' href=0>", ["next 2", "prev 0"]),
        ("<link rel=previous href=0><link rel=canonical href=/c>", ["prev 0", "canonical /c"]),
        (
            "<link rel=alternate hreflang=de href=/de><link rel=alternate type=application/rss+xml "
            "href=feed>",
            ["alternate /de", "alternate feed"],
        ),
        ("<link rel='alternate stylesheet' href=s><link rel=stylesheet href=t>", ["s", "t"]),
        ("<link rel='shortcut icon' href=i><link rel=mask-icon href=j>", ["image i", "image j"]),
        ("<link rel=preload as=font href=f><link rel=preload as=Image href=i>", ["font f", "i"]),
        ("<link rel=preload href=f><link rel=preload as=fetch href=g>", []),
        ("<link rel='dns-prefetch manifest license' href=x><link href=y><link rel=next>", []),
        ("<link rel=stylesheet href=''><iframe src=''></iframe><img src=''>", [""]),
        ("<img src=a srcset='b 1x, c,d 2x ,e'>", ["image b", "image c,d", "image e", "image a"]),
        (
            "<picture><source srcset='a (max-width: 1,5), b'><img src=c></picture>",
            ["image a", "image b", "image c"],
        ),
        ("<input type=image src=x><input type=text src=no>", ["image x"]),
        (
            "<video src=v poster=p><source src=w><track src=t></video><audio src=a></audio>",
            ["image p", "media v", "media w", "media t", "media a"],
        ),
        ("<object data=o></object><embed src=e>", ["object o", "object e"]),
        ("<script src=s></script><script>no</script>", ["script s"]),
        ("<noscript><iframe src=x></iframe></noscript>", ["iframe x"]),
        ("<template><iframe src=no></iframe><link rel=next href=no></template>", []),
        ("<svg><a href=no></a><image href=no /><script src=no /></svg>", []),
        ("<!-- <frame src=no> <link rel=next href=no> -->", []),
        ("<link rel=next href=mailto:x>", ["next mailto:x"]),
    ],
)
def test_an_element_leads_where_a_browser_would_take_it(html: str, expected: list[str]) -> None:
    found = links(html)
    for one, (kind, href) in zip(expected, found, strict=True):
        assert one in {href, f"{kind} {href}"}


def test_by_default_a_reader_is_led_on_and_nothing_is_fetched_twice() -> None:
    html = """<link rel=canonical href=c><link rel=alternate href=b><link rel=stylesheet href=s>
    <link rel=next href=n><a href=a>a</a><img src=i><script src=j></script><iframe src=f></iframe>
    <meta http-equiv=refresh content='60; url=r'>"""
    assert links(html, USUAL) == [("next", "n"), ("a", "a"), ("iframe", "f"), ("refresh", "r")]
    assert links(html, HYPERLINKS) == [("a", "a")]


def test_a_link_with_a_relation_counts_for_those_who_follow_only_that() -> None:
    html = "<a href=1>1</a><a rel='next nofollow' href=2>2</a><area rel=prev href=0>"
    assert links(html, frozenset({LinkKind.NEXT, LinkKind.PREV})) == [("next", "2"), ("prev", "0")]
    assert links(html, frozenset({LinkKind.A, LinkKind.NEXT})) == [("a", "1"), ("a", "2")]
    assert links(html, frozenset()) == []


def test_links_of_every_kind_are_relative_to_the_base() -> None:
    html = "<base href=/b/><iframe src=x></iframe><link rel=next href=y>"
    assert [link.url for link in page(html).links] == [
        "http://a.example/b/x",
        "http://a.example/b/y",
    ]


def test_with_markers_only_what_stands_between_them_counts() -> None:
    html = (
        "<link rel=next href=1><!-- C --><iframe src=2></iframe><!-- C --><iframe src=3></iframe>"
    )
    found = page(html, markers="<!-- C -->", headers=(("link", "<4>; rel=next"),))
    assert [link.href for link in found.links] == ["2"]


def test_links_of_the_header_come_first_and_are_relative_to_the_page() -> None:
    headers = (
        ("link", '<2>; rel="next"; title="a, b", </s.css>; rel=stylesheet'),
        ("link", "<http://b.example/c>; rel=canonical"),
    )
    html = "<base href=/b/><a href=x>"
    found = page(html, headers=headers)
    assert [(str(link.kind), link.url) for link in found.links] == [
        ("next", "http://a.example/dir/2"),
        ("stylesheet", "http://a.example/s.css"),
        ("canonical", "http://b.example/c"),
        ("a", "http://a.example/b/x"),
    ]
    assert [link.href for link in page(html, USUAL, headers=headers).links] == ["2", "x"]
    without = EVERY - {LinkKind.HEADER}
    assert [link.href for link in page(html, without, headers=headers).links] == ["x"]


@pytest.mark.parametrize(
    ("content", "redirect", "link"),
    [
        ("0; url=/x", "http://a.example/x", None),
        ("5;URL='y'", "http://a.example/dir/y", None),
        ("6; url=/x", None, "/x"),
        ("0", None, None),
        ("0; url=page#top", None, None),
        ("300; url=", None, None),
        ("0; url=javascript:x", None, None),
        ("0; url=file:///etc/passwd", None, None),
        ("soon", None, None),
    ],
)
def test_a_refresh_is_a_redirect_if_it_comes_at_once_and_else_a_link(
    content: str, redirect: str | None, link: str | None
) -> None:
    html = f'<meta http-equiv=Refresh content="{content}"><a href=a>'
    for found in (page(html, USUAL), page("<a href=a>", USUAL, headers=(("refresh", content),))):
        assert found.redirect == redirect
        assert [one.href for one in found.links] == (["a", link] if link else ["a"])
    assert page(html, HYPERLINKS).redirect is None


def test_the_first_refresh_counts_and_that_of_the_header_before_it() -> None:
    html = """<noscript><meta http-equiv=refresh content='0;url=/turn-on-scripts'></noscript>
    <meta http-equiv=refresh content=x><meta http-equiv=refresh content='0;url=1'>
    <meta http-equiv=refresh content='0;url=2'>"""
    assert page(html).redirect == "http://a.example/dir/1"
    assert page(html, headers=(("refresh", "9;url=3"),)).redirect is None
    marked = page(html + "<!-- C -->", markers="<!-- C -->")
    assert marked.redirect == "http://a.example/dir/1", "it is about the page, not in its content"


def test_hostile_attributes_end_in_linear_time() -> None:
    many = "a 1x," * 200_000
    html = (
        f"<img srcset='{many}'><img srcset='{'(' * 500_000}'><link rel='{'x ' * 500_000}' href=y>"
    )
    found = links(
        html + f"<meta http-equiv=refresh content='{'0' * 500_000};url={' ' * 500_000}x'>"
    )
    assert len(found) == 101
