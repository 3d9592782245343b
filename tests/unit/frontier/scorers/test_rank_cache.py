import pytest

from gossamer.frontier.scorers.pagerank import RankCache

pytestmark = pytest.mark.req("D4")


def test_ranks_and_the_lack_of_one_are_remembered() -> None:
    cache = RankCache(max_domains=10, ttl_s=60)
    cache.add({"a.com": 7.5, "b.com": None}, now=0)
    assert cache.known(["a.com", "b.com", "c.com"], now=1) == {"a.com": 7.5, "b.com": None}


def test_each_answer_is_forgotten_when_it_is_old() -> None:
    cache = RankCache(max_domains=10, ttl_s=60)
    cache.add({"a.com": 1.0}, now=0)
    cache.add({"b.com": 2.0}, now=30)
    assert cache.known(["a.com", "b.com"], now=59.9) == {"a.com": 1.0, "b.com": 2.0}
    assert cache.known(["a.com", "b.com"], now=60) == {"b.com": 2.0}
    assert cache.known(["a.com", "b.com"], now=90) == {}
    assert len(cache) == 0


def test_a_newer_answer_takes_the_place_of_an_older_one() -> None:
    cache = RankCache(max_domains=10, ttl_s=60)
    cache.add({"a.com": 1.0, "b.com": 2.0}, now=0)
    cache.add({"a.com": 3.0}, now=50)
    assert cache.known(["a.com", "b.com"], now=70) == {"a.com": 3.0}


def test_it_never_holds_more_than_it_may_and_the_oldest_go_first() -> None:
    cache = RankCache(max_domains=3, ttl_s=60)
    for number in range(10):
        cache.add({f"{number}.com": 1.0}, now=number)
        assert len(cache) <= 3
    assert cache.known([f"{number}.com" for number in range(10)], now=10).keys() == {
        "7.com",
        "8.com",
        "9.com",
    }
