"""What reads bytes of the web, and what must hold for any of them: it ends, and raises nothing."""

from collections.abc import Callable, Mapping

import msgspec

from gossamer.content.charset import decode
from gossamer.content.link_header import header_links
from gossamer.content.links import parse_refresh
from gossamer.content.page_parser import ParseRules, parse
from gossamer.content.sitemap import Sitemap
from gossamer.content.sniff import parse_content_type
from gossamer.coordinator.processes.worker_channel import CONTRACTS
from gossamer.download.answer import HeaderReader
from gossamer.download.body import Body, decoders_of
from gossamer.model import Headers, Url
from gossamer.policy.robots import may_follow, parse_robots
from gossamer.urls import fingerprint, host_of, normalise, resolve

BASE = Url("http://a.test/dir/page?q=1")
LIMIT = 100_000


def url(data: bytes) -> None:
    """A link of a page: its normal form is one, is ASCII, and stays as it is."""
    text = data.decode("utf-8", "surrogateescape")
    for found in (normalise(text), resolve(text, BASE), resolve(text, BASE, "shift_jis")):
        if found is not None:
            assert found.isascii(), found
            assert found.isprintable(), found
            assert normalise(found) == found, found
            assert host_of(found), found
            assert normalise(fingerprint(found)) is not None, found


def robots(data: bytes) -> None:
    """A robots.txt: what it says about URLs."""
    rules = parse_robots(data, "gossamer")
    for path in ("", "a/b?c=d%2Fe", "%41*$", "robots.txt"):
        rules.judge(Url(f"http://a.test/{path}"))
    assert rules.footprint_bytes >= 0
    assert rules.crawl_delay_s is None or rules.crawl_delay_s >= 0


def header(data: bytes) -> None:
    """The header of an answer, and the fields that are read of it."""
    reader = HeaderReader(65_536, 500)
    for line in data.splitlines(keepends=True):
        if reader.feed(line) is not None:
            break
    headers = Headers.read(reader.head())
    header_links(headers.get_all("link"))
    may_follow("gossamer", headers.get_all("x-robots-tag"), [])
    parse_content_type(headers.get("content-type"))
    parse_refresh(data.decode("latin-1"))


def charset(data: bytes) -> None:
    """A body and the charset that its header names."""
    label, _, body = data.partition(b"\n")
    found = decode(body, label.decode("latin-1") or None)
    found.text.encode("utf-8")


def html(data: bytes) -> None:
    """A page: its title, text and links."""
    kind, _, body = data.partition(b"\n")
    page = parse(
        body,
        url=BASE,
        content_type=kind.decode("latin-1") or "text/html",
        rules=ParseRules(with_text=True),
        headers=Headers(),
    )
    page.text.encode("utf-8")
    page.title.encode("utf-8")
    for link in page.links:
        assert link.url is None or normalise(link.url) == link.url, link


def sitemap(data: bytes) -> None:
    """A sitemap, packed or not."""
    found = [one for piece in Sitemap(data, BASE).pieces() for one in piece]
    assert all(normalise(one.url) == one.url for one in found)


def coding(data: bytes) -> None:
    """A body in one of the content codings, which is bounded when it is decoded."""
    names = ((), ("gzip",), ("deflate",), ("br",), ("gzip", "br"))[data[0] % 5 if data else 0]
    body = Body(decoders_of(names) or [], LIMIT)
    for begin in range(1, len(data), 64):
        if body.feed(data[begin : begin + 64]) is not None:
            break
    body.finish()
    assert len(body.content()) <= LIMIT + 64 * 1024, "it keeps at most one piece more"


def channel(data: bytes) -> None:
    """A message between processes: what does not fit is refused by one of the errors for it."""
    methods = [method for contract in CONTRACTS for method in contract.methods.values()]
    method = methods[int.from_bytes(data[:2], "big") % len(methods)]
    for read in (method.read_arguments, method.read_result):
        try:
            read(data[2:])
        except (msgspec.MsgspecError, RecursionError, ValueError):
            continue


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    one.__name__: one for one in (url, robots, header, charset, html, sitemap, coding, channel)
}

WORDS: Mapping[str, tuple[bytes, ...]] = {
    "url": (
        *(b"http://", b"https:", b"//", b"/", b"..", b".", b"@", b":", b"?", b"#", b"%", b"%2e"),
        *(b"%00", b"%zz", b"[::1]", b"xn--", b"\\", b"\t", b"\n", b" ", b"0x7f.1", b"&", b"="),
        *(b"\xef\xbc\x8e", b"\xe2\x80\xae", b"a", b"jsessionid", b";", b"\xff", b":99999", b"\x00"),
    ),
    "robots": (
        *(b"User-agent:", b"*", b"gossamer", b"Disallow:", b"Allow:", b"/", b"$", b"%2F", b"\n"),
        *(b"Crawl-delay:", b"1e9", b"NaN", b"-5", b"Sitemap:", b"http://", b"\r", b"\x00", b"#"),
    ),
    "header": (
        *(b"HTTP/1.1 200 OK\r\n", b"Content-Type:", b"text/html", b"; charset=", b"\r\n", b"\n"),
        *(b"Link:", b"<a>", b"; rel=", b'"next"', b",", b"X-Robots-Tag:", b"nofollow", b"bot:"),
        *(b"0;url=", b"'", b"\x00", b"\t", b"Refresh:", b"HTTP/1.1 103 x\r\n", b"1e400", b"\xb2"),
    ),
    "charset": (
        *(b"utf-8\n", b"utf-7\n", b"shift_jis\n", b"\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"),
        *(b"<meta charset=", b"gb18030", b"<?xml encoding='", b"utf-16", b">", b"\x1b$B", b"\x80"),
    ),
    "html": (
        *(b"text/html\n", b"<a href=", b"<base href=", b">", b"</a>", b"<title>", b"<b>", b"<p>"),
        *(b"<meta name=robots content=nofollow>", b"<meta http-equiv=refresh content='0;url=/x'>"),
        *(b"<template>", b"<svg>", b"<math>", b"<table>", b"<!--", b"-->", b"<![CDATA[", b"&#x0;"),
        *(
            b"<script>",
            b"</script>",
            b'"',
            b"'",
            b"http://a.test/",
            b"\x00",
            b"\xff",
            b"<frameset>",
        ),
    ),
    "sitemap": (
        *(b"<urlset>", b"<url>", b"<loc>", b"http://a.test/1", b"</loc>", b"</url>", b"</urlset>"),
        *(b"<sitemapindex>", b"<sitemap>", b"<?xml version='1.0' encoding='", b"utf-16'?>", b"&x;"),
        *(
            b"<!DOCTYPE a [",
            b"<!ENTITY x 'y'>",
            b"]>",
            b"<lastmod>",
            b"2026-99-99T",
            b"\x1f\x8b\x08",
        ),
        *(b"<priority>", b"1e999", b"<![CDATA[", b"]]>", b"xmlns:a='b'", b"\xef\xbb\xbf", b"\n"),
    ),
    "coding": (
        *(
            b"\x00",
            b"\x01",
            b"\x02",
            b"\x03",
            b"\x04",
            b"\x1f\x8b\x08\x00",
            b"\x78\x9c",
            b"\x03\x00",
        ),
        *(b"\xff\xff", b"\x00\x00\xff\xff", b"\x4b\x4c\x04\x00", b"\xcb\x48\xcd\xc9\xc9\x07\x00"),
    ),
    "channel": (
        *(
            b"\x00\x01",
            b"\x90",
            b"\x91",
            b"\x92",
            b"\x93",
            b"\xc0",
            b"\xc2",
            b"\xa1a",
            b"\xc4\x01a",
        ),
        *(
            b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\xcb\x7f\xf8\0\0\0\0\0\0",
            b"\x81",
            b"\xd9\xff",
        ),
    ),
}
"""What the inputs of each are made of, beside plain bytes."""
