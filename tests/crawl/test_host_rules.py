"""Rules for single hosts at work: delay, connections, budgets, depth and scope, and who tells."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from crawled import Crawled
from tests.unit.views.reading import broken, explained, in_directory

from gossamer import Outcome, UsageError
from gossamer.cli.explain import explanation_lines
from gossamer.model import Url
from gossamer.testing import Reply, Web, most_at_once

Crawl = Callable[..., Crawled]


def site(web: Web, name: str, count: int = 5, delay_s: float = 0.0) -> None:
    """Describe a host whose pages are all linked from its home."""
    links = "".join(f"<a href='/{number}'>x</a>" for number in range(1, count))
    web.site(name).reply("/", Reply(body=name + links, delay_s=delay_s))
    for number in range(1, count):
        web.site(name).reply(f"/{number}", Reply(body=f"{name} {number}", delay_s=delay_s))


@pytest.mark.req("B3")
def test_hosts_are_asked_by_their_own_rules(web: Web, crawl: Crawl) -> None:
    for name in ("slow.test", "own.test", "other.test"):
        site(web, name, delay_s=0.05)
    crawl(
        *[f"http://{name}/" for name in ("slow.test", "own.test", "other.test")],
        delay="100ms",
        host={
            "slow.test": {"delay": "300ms"},
            "own.test": {"delay": "0s", "connections": 4},
        },
    )
    by_host = {
        name: [one for one in web.requests if one.host == name]
        for name in ("slow.test", "own.test", "other.test")
    }
    gaps = {
        name: min(after.started - before.ended for before, after in pairwise(records))
        for name, records in by_host.items()
    }
    assert gaps["slow.test"] >= 0.3
    assert gaps["other.test"] >= 0.1
    assert most_at_once(by_host["own.test"]) == 4


@pytest.mark.req("D14")
def test_the_budget_of_a_host_ends_its_urls_and_not_the_crawl(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    for name in ("www.a.test", "b.test"):
        site(web, name)
    rules = {"*.a.test": {"max-pages": 2}}
    seeds = ("http://www.a.test/", "http://b.test/")
    crawled = crawl(*seeds, host=rules)
    ends = Counter(crawled.outcomes().values())
    assert ends == {Outcome.FETCHED: 7, Outcome.HOST_OVER_BUDGET: 3}
    assert crawled.summary.snapshot.ended_by == "complete"
    assert [one.host for one in web.requests].count("www.a.test") == 3, "and robots.txt"
    stopped = next(
        url for url, end in crawled.outcomes().items() if end is Outcome.HOST_OVER_BUDGET
    )
    place = in_directory(tmp_path / "crawl")
    told = "\n".join(explanation_lines(explained(place, Url(stopped))))
    assert "host over budget: the max-pages of its host" in told
    assert 'max-pages 2  [host."*.a.test"]' in told
    assert not broken(place)


@pytest.mark.req("D14")
def test_the_bytes_of_a_host(web: Web, crawl: Crawl) -> None:
    for name in ("a.test", "b.test"):
        site(web, name)
    crawled = crawl("http://a.test/", "http://b.test/", host={"a.test": {"max-bytes": "60B"}})
    assert crawled.outcome("http://a.test/") is Outcome.FETCHED
    ends = Counter(crawled.outcomes().values())
    assert ends == {Outcome.FETCHED: 6, Outcome.HOST_OVER_BUDGET: 4}


def test_the_scope_of_a_host(web: Web, crawl: Crawl, tmp_path: Path) -> None:
    links = "".join(f"<a href='http://{name}/'>x</a>" for name in ("b.test", "c.test", "d.test"))
    web.site("a.test").reply("/", Reply(body=links))
    for name in ("b.test", "c.test", "d.test"):
        site(web, name, count=2)
    crawled = crawl("http://a.test/", host={"b.test": {"scope": "any"}, "c.test": {"depth": 9}})
    assert {url.split("/")[2] for url in crawled.outcomes()} == {"a.test", "b.test"}
    place = in_directory(tmp_path / "crawl")
    told = "\n".join(explanation_lines(explained(place, Url("http://b.test/1"))))
    assert 'accepted by scope any of [host."b.test"]' in told
    told = "\n".join(explanation_lines(explained(place, Url("http://c.test/"))))
    assert "would be refused by scope host: c.test is not one of the seeds' hosts" in told
    assert not broken(place)


def test_a_host_that_is_left_out(web: Web, crawl: Crawl) -> None:
    web.site("a.test").reply("/", Reply(body="<a href='http://ads.test/'>x</a>"))
    site(web, "ads.test")
    crawled = crawl("http://a.test/", scope="any", host={"ads.test": {"scope": "host"}})
    assert list(crawled.outcomes()) == ["http://a.test/"]


def test_the_depth_of_a_host(web: Web, crawl: Crawl, tmp_path: Path) -> None:
    for name in ("a.test", "b.test"):
        for number in range(4):
            after = "".join(
                f"<a href='http://{one}/{number + 1}'>x</a>" for one in ("a.test", name)
            )
            web.site(name).reply(f"/{number}", Reply(body=f"{name} {number} {after}"))
    crawled = crawl("http://a.test/0", "http://b.test/0", depth=2, host={"b.test": {"depth": 1}})
    assert set(crawled.depths()) == {
        *(f"http://a.test/{number}" for number in range(3)),
        *(f"http://b.test/{number}" for number in range(2)),
    }
    place = in_directory(tmp_path / "crawl")
    told = "\n".join(explanation_lines(explained(place, Url("http://b.test/2"))))
    assert 'too deep: it is 2 links away from a seed, and the depth of [host."b.test"] is 1' in told
    assert not broken(place)


def test_scope_and_depth_of_hosts_stay_as_they_were(web: Web, crawl: Crawl) -> None:
    """As those of the crawl: what is known was judged by them. Other rules may change."""
    site(web, "a.test", count=2)
    crawl("http://a.test/", host={"a.test": {"depth": 1}}, max_pages=1)
    with pytest.raises(UsageError, match="different depth in the rules for single hosts"):
        crawl("http://a.test/", host={"a.test": {"depth": 2}})
    crawl("http://a.test/", host={"a.test": {"depth": 1, "delay": "1ms"}})


def test_several_connections_need_a_delay_of_nothing(crawl: Crawl) -> None:
    with pytest.raises(UsageError, match=r'\[host."a.test"\] has connections 4, which needs'):
        crawl("http://a.test/", delay="1s", host={"a.test": {"connections": 4}})
