"""Sitemaps of every kind are read; hostile ones end, in little time and memory."""

import gzip
import time
import tracemalloc
from datetime import UTC, datetime

import pytest

from gossamer.content.sitemap import MAX_ENTRIES, Sitemap, SitemapEntry, read_date
from gossamer.model import Url
from gossamer.policy.size_limits import MAX_SITEMAP_BYTES

BASE = Url("http://a.test/maps/sitemap.xml")
DAY = datetime(2026, 11, 17, tzinfo=UTC).timestamp()
PAGES = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://i.test/">
 <url><loc> http://a.test/one?x=1&amp;y=2 </loc><lastmod>2026-11-17</lastmod>
  <priority>0.8</priority><image:image><image:loc>http://a.test/i.png</image:loc></image:image></url>
 <url><loc>http://a.test/two</loc><lastmod>soon</lastmod><priority>7</priority></url>
 <url><lastmod>2026-11-17</lastmod></url>
</urlset>"""
FOUND = [
    SitemapEntry(Url("http://a.test/one?x=1&y=2"), DAY, 0.8),
    SitemapEntry(Url("http://a.test/two")),
]


def read(body: bytes) -> tuple[list[SitemapEntry], Sitemap]:
    sitemap = Sitemap(body, BASE)
    return [one for piece in sitemap.pieces() for one in piece], sitemap


@pytest.mark.parametrize(
    "body",
    [
        PAGES,
        gzip.compress(PAGES),
        gzip.compress(PAGES[:100]) + gzip.compress(PAGES[100:]),
        b"\xef\xbb\xbf" + PAGES,
        b"\xef\xbb\xbf\r\n \n" + PAGES,
        PAGES.decode().replace("UTF-8", "UTF-16").encode("utf-16"),
        PAGES.replace(
            b' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"', b' xmlns="http://x"'
        ),
    ],
    ids=[
        "plain",
        "gzip",
        "gzip of two members",
        "mark",
        "blank lines first",
        "utf-16",
        "another namespace",
    ],
)
def test_pages(body: bytes) -> None:
    found, sitemap = read(body)
    assert (found, sitemap.trouble, sitemap.is_index) == (FOUND, "", False)


def test_an_index() -> None:
    body = b"<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap></sitemapindex>"
    found, sitemap = read(body)
    assert ([one.url for one in found], sitemap.is_index) == (["http://a.test/1.xml.gz"], True)


@pytest.mark.parametrize(
    "body",
    [
        b"<rss><channel><link>http://a.test/</link><item><title>1</title><link>http://a.test/1"
        b"</link><pubDate>Tue, 17 Nov 2026 00:00:00 GMT</pubDate></item></channel></rss>",
        b'<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/><entry>'
        b'<link rel="edit" href="/edit"/><link href="/1"/>'
        b"<updated>2026-11-17T01:00:00+01:00</updated></entry></feed>",
        b'<rdf:RDF xmlns:rdf="r" xmlns:dc="d"><item><link>http://a.test/1</link>'
        b"<dc:date>2026-11-17</dc:date></item></rdf:RDF>",
    ],
    ids=["rss", "atom", "rss 1.0"],
)
def test_feeds(body: bytes) -> None:
    assert read(body)[0] == [SitemapEntry(Url("http://a.test/1"), DAY)]


def test_text() -> None:
    lines = b"".join(b"http://a.test/%d\r\n" % number for number in range(20_000))
    found, sitemap = read(b"\xef\xbb\xbf" + lines + b"\nnot a url: [\nhttp://a.test/last")
    assert [one.url for one in found[:2]] == ["http://a.test/0", "http://a.test/1"]
    assert len({one.url for one in found}) >= 20_001
    assert (found[-1].url, sitemap.trouble) == ("http://a.test/last", "")


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        (b"<!doctype html><html><a href='/x'>x</a></html>", "it is an HTML page"),
        (b"<html><url><loc>http://a.test/</loc></url></html>", "it is an HTML page"),
        (b"<svg><url><loc>http://a.test/</loc></url></svg>", "its root element is 'svg'"),
        (b"just words", "neither XML nor a list of URLs"),
        (gzip.compress(gzip.compress(PAGES)), "neither XML nor a list of URLs"),
        (b"\x1f\x8b\x08 not gzip", "not valid gzip"),
        (b"<urlset>" + b"<x>" * 100_000, "nested too deep"),
        (b"<?xml version='1.0' encoding='klingon'?><urlset/>", "encoding"),
    ],
)
def test_what_is_no_sitemap_says_so(body: bytes, trouble: str) -> None:
    found, sitemap = read(body)
    assert found == []
    assert trouble in sitemap.trouble


@pytest.mark.req("D19")
def test_there_are_no_entities() -> None:
    laughs = b"".join(
        b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10 if n else b"lol") for n in range(12)
    )
    secret = b'<!ENTITY s SYSTEM "file:///etc/passwd">'
    for declared in (laughs, secret):
        body = b"<!DOCTYPE urlset [" + declared + b"]><urlset><url><loc>http://a.test/&s;</loc>"
        found, sitemap = read(body)
        assert (found, sitemap.trouble) == ([], "it has a DTD, which is not read")


def test_what_comes_before_a_mistake_counts() -> None:
    found, sitemap = read(PAGES.replace(b"</urlset>", b"<url><loc>http://a.test/cut"))
    assert found == FOUND
    assert "not valid XML" in sitemap.trouble
    found, sitemap = read(gzip.compress(PAGES * 1)[:-20])
    assert sitemap.trouble == "its end is missing"


@pytest.mark.req("D19")
def test_no_more_is_read_than_the_standard_allows() -> None:
    entry = b"<url><loc>http://a.test/</loc></url>"
    found, sitemap = read(b"<urlset>" + entry * MAX_ENTRIES + b"</urlset>")
    assert (len(found), sitemap.trouble) == (MAX_ENTRIES, "")
    found, sitemap = read(b"<urlset>" + entry * (MAX_ENTRIES + 10) + b"</urlset>")
    assert len(found) == MAX_ENTRIES
    assert sitemap.trouble == "no more than 50,000 URLs are read"


@pytest.mark.req("D19")
def test_a_bomb_takes_little_memory() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * (3 * MAX_SITEMAP_BYTES))
    started = time.process_time()
    tracemalloc.start()
    found, sitemap = read(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found, sitemap.trouble) == ([], "no more than 50 MiB are read")
    assert peak < 3_000_000
    assert time.process_time() - started < 10


@pytest.mark.parametrize("text", ["2026", "2026-01", "2026-01-01", "2026-01-01T00:00:00Z"])
def test_dates(text: str) -> None:
    assert read_date(text) == datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text", [None, "", "9999999", "2026-13", "0000-01-01", "Mon, 99 X", "x" * 99]
)
def test_what_is_no_date(text: str | None) -> None:
    assert read_date(text) is None
