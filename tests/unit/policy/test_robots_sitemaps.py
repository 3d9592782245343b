"""The sitemaps that a robots.txt announces."""

from gossamer.policy.robots import MAX_ANNOUNCED_SITEMAPS, parse_robots


def test_they_belong_to_no_group_and_are_absolute_urls() -> None:
    body = (
        b"Sitemap: http://a.test/1.xml\nUser-agent: other\nDisallow: /\n"
        b"SITEMAP : http://a.test/2.xml.gz # new\nSitemap: /relative.xml\n"
        b"Sitemap: ftp://a.test/3.xml\nSitemap: http://a.test/1.xml\n"
    )
    rules = parse_robots(body, "gossamer")
    assert rules.sitemaps == ("http://a.test/1.xml", "http://a.test/2.xml.gz")
    assert rules.rules == ()


def test_only_so_many_are_kept() -> None:
    body = b"".join(b"Sitemap: http://a.test/%d.xml\n" % number for number in range(5_000))
    assert len(parse_robots(body, "gossamer").sitemaps) == MAX_ANNOUNCED_SITEMAPS
