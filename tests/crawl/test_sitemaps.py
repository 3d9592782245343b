"""Sitemaps in a crawl: found, read politely and once, and what they list is crawled."""

import asyncio
import gzip
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from crawled import Crawled, stored_results
from tests.unit.views.reading import broken, explained, in_directory, in_redis

from gossamer import crawl as crawl_any
from gossamer.testing import Reply, Site, Web, traffic_of

Crawl = Callable[..., Crawled]

XML = {"Content-Type": "application/xml"}


def urlset(*paths: str, host: str = "a.test") -> bytes:
    items = "".join(f"<url><loc>http://{host}{path}</loc></url>" for path in paths)
    return f"<urlset>{items}</urlset>".encode()


def index(*paths: str) -> bytes:
    items = "".join(f"<sitemap><loc>http://a.test{path}</loc></sitemap>" for path in paths)
    return f"<sitemapindex>{items}</sitemapindex>".encode()


@pytest.fixture
def site(web: Web) -> Site:
    """A site whose robots.txt announces an index of three sitemaps, one of them a dead end."""
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /private\nSitemap: http://a.test/index.xml\n")
    site.page("/", links=["/linked", "/index.xml"])
    for path in ("/linked", "/1", "/2", "/3"):
        site.page(path)
    site.reply("/index.xml", Reply(headers=XML, body=index("/a.xml.gz", "/b", "/no", "/index.xml")))
    packed = gzip.compress(urlset("/1", "/2", "/private/x"))
    site.reply("/a.xml.gz", Reply(headers={"Content-Type": "application/gzip"}, body=packed))
    site.redirect("/b", "/b.xml")
    body = b"<urlset>" + urlset("/3", "/linked")[8:-9] + urlset("/x", host="b.test")[8:]
    site.reply("/b.xml", Reply(headers=XML, body=body))
    return site


PAGES = {"http://a.test/": 0, **{f"http://a.test{one}": 1 for one in ("/linked", "/1", "/2", "/3")}}


def test_what_is_announced_in_robots_txt_is_crawled(
    site: Site, web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    crawled = crawl("http://a.test/", sitemaps="auto")
    assert crawled.depths() == PAGES
    assert {page.url for page in crawled.pages} == PAGES.keys()
    snapshot = crawled.summary.snapshot
    assert snapshot.outcomes == {
        "fetched": 5,
        "sitemap": 3,
        "redirected": 1,
        "not_found": 1,
        "robots_denied": 1,
        "unwanted_type": 1,  # the index, to which a page links
    }
    assert snapshot.listed in {4, 5}  # whether /linked was found on the page first
    asked = Counter(one.path for one in web.requests)
    assert asked.pop("/index.xml") == 2  # as a page, too
    assert set(asked.values()) == {1}
    directory = in_directory(tmp_path / "crawl")
    assert broken(directory) == {}
    path = [(one.url, one.depth, one.over) for one in explained(directory, "http://a.test/1").path]
    assert path == [
        ("http://a.test/index.xml", 0, "sitemap"),
        ("http://a.test/a.xml.gz", 0, "sitemap"),
        ("http://a.test/1", 1, "sitemap"),
    ]
    assert explained(directory, "http://a.test/a.xml.gz").detail == "it lists 3 URLs"
    assert "1 URL of other sites" in explained(directory, "http://a.test/b.xml").detail


def test_they_are_off_unless_wanted(site: Site, web: Web, crawl: Crawl) -> None:
    assert crawl("http://a.test/").depths().keys() == {"http://a.test/", "http://a.test/linked"}
    assert "/a.xml.gz" not in {one.path for one in web.requests}


def test_a_named_one_needs_no_seed(site: Site, crawl: Crawl) -> None:
    crawled = crawl(sitemaps=["http://a.test/a.xml.gz"], depth=1)
    assert crawled.depths() == {"http://a.test/1": 1, "http://a.test/2": 1}
    assert crawled.summary.exit_code == 0


def test_a_named_one_that_is_none_is_reported(site: Site, crawl: Crawl) -> None:
    crawled = crawl(sitemaps=["http://a.test/1"])
    assert crawled.summary.exit_code == 3
    (failed,) = crawled.summary.seeds.failed
    assert "it is an HTML page" in failed.reason


def test_they_are_asked_for_as_politely_as_pages(site: Site, web: Web, crawl: Crawl) -> None:
    crawl("http://a.test/", sitemaps="auto", delay="50ms", max_pages=2)
    traffic = traffic_of(web.requests, time.monotonic())
    assert traffic.most_at_once == 1
    assert (traffic.min_gap_s or 0) >= 0.05


def test_they_are_asked_for_with_what_their_origin_gets(site: Site, web: Web, crawl: Crawl) -> None:
    crawl("http://a.test/", sitemaps="auto", header=["X-Who: me"], cookies=True)
    asked = {one.path: one.header for one in web.requests}
    assert b"X-Who: me" in asked["/a.xml.gz"]
    assert b"X-Who: me" in asked["/1"]


def test_modules_and_outputs_have_nothing_of_them(site: Site, crawl: Crawl, tmp_path: Path) -> None:
    file = tmp_path / "ends.py"
    file.write_text(
        "class Ends:\n"
        "    def finished(self, result):\n"
        "        return {'url': result.url, 'found': result.found_on}\n"
    )
    crawl("http://a.test/", sitemaps="auto", modules=[f"{file}:Ends"])
    with closing(sqlite3.connect(tmp_path / "crawl" / "crawl.sqlite")) as db:
        results = stored_results(db)
    told = [json.loads(one.data) for result in results for one in result.records or ()]
    ended = {one["url"]: one["found"] for one in told}
    # of the index as a page, to which another page links, they hear
    assert ended.keys() == {*PAGES, "http://a.test/private/x", "http://a.test/index.xml"}
    assert ended["http://a.test/1"] == "http://a.test/a.xml.gz"
    assert ended["http://a.test/index.xml"] == "http://a.test/"
    assert len(results) == len(ended)


def test_a_scorer_gets_what_they_say(web: Web, crawl: Crawl, tmp_path: Path) -> None:
    site = web.site("a.test")
    site.robots("Sitemap: http://a.test/map.xml")
    site.page("/")
    entries = "".join(
        f"<url><loc>http://a.test/{n}</loc><priority>0.{n}</priority>"
        f"<lastmod>2026-11-0{n}</lastmod></url>"
        for n in range(1, 6)
    )
    site.reply("/map.xml", Reply(headers=XML, body=f"<urlset>{entries}</urlset>"))
    for n in range(1, 6):
        site.page(f"/{n}")
    file = tmp_path / "mine.py"
    file.write_text(
        "class Newest:\n"
        "    strict = True\n"
        "    def score(self, candidates):\n"
        "        said = [(c.priority or 0, c.lastmod or 0) for c in candidates]\n"
        "        return [100 - 10 * priority - date / 1e9 for priority, date in said]\n"
    )
    crawled = crawl("http://a.test/", sitemaps="auto", scorer=f"{file}:Newest", workers=1)
    listed = [page.url[-1] for page in crawled.pages if page.depth == 1]
    assert listed == ["5", "4", "3", "2", "1"]


def test_a_large_one_is_taken_in_as_the_url_queue_has_room(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/")
    paths = [f"/p{number}" for number in range(1_500)]
    site.reply("/map.xml", Reply(headers=XML, body=urlset(*paths)))
    site.robots("User-agent: *\nDisallow: /p\nSitemap: http://a.test/map.xml")
    crawled = crawl("http://a.test/", sitemaps="auto", url_queue=50, workers=1)
    assert crawled.summary.snapshot.listed == 1_500
    assert crawled.summary.snapshot.outcomes["robots_denied"] == 1_500


def test_in_a_shared_store(site: Site, web: Web, redis_url: str) -> None:
    host, port = web.address
    summary = asyncio.run(
        crawl_any(
            "http://a.test/",
            sitemaps="auto",
            store=redis_url,
            name="sitemaps",
            fresh=True,
            delay="0s",
            similarity="off",
            workers=2,
            allow_network=f"{host}:{port}",
            dns=web.dns,
        )
    )
    assert (summary.snapshot.outcomes["fetched"], summary.snapshot.outcomes["sitemap"]) == (5, 3)
    assert summary.snapshot.listed in {4, 5}
    crawl = in_redis(redis_url, "sitemaps")
    assert broken(crawl) == {}
    assert [one.over for one in explained(crawl, "http://a.test/1").path] == ["sitemap"] * 3


def test_after_a_death_in_the_middle_it_is_read_again_and_nothing_is_lost(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nSitemap: http://a.test/map.xml")
    site.page("/")
    paths = [f"/{number}" for number in range(1_200)]
    for path in paths:
        site.page(path)
    site.reply("/map.xml", Reply(headers=XML, body=urlset(*paths)))
    file = tmp_path / "deadly.py"
    file.write_text(
        "import os, pathlib, signal\n"
        "def die(page):\n"
        f"    mark = pathlib.Path({str(tmp_path / 'died')!r})\n"
        "    if page.depth == 1 and not mark.exists():\n"
        "        mark.touch()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    crawled = crawl(
        "http://a.test/",
        sitemaps="auto",
        url_queue=200,
        workers=1,
        host_connections=4,
        modules=[f"{file}:die"],
    )
    assert (tmp_path / "died").exists()
    assert len(crawled.depths()) == 1_201
    assert crawled.summary.snapshot.listed == 1_200
    assert broken(in_directory(tmp_path / "crawl")) == {}
