import asyncio
import time

import pytest

from gossamer.frontier.contract import Link
from gossamer.model import HostKey, Url
from gossamer.urls import Domains, Scope, merge_slashes, normalise
from gossamer.worker.link_filter import MAX_REMEMBERED_LENGTH, REMEMBERED_OF_PAGE, LinkFilter

SEED = Url("http://www.a.test/")


def link_filter(remembered: int = 100) -> LinkFilter:
    domains = Domains()
    scope = Scope.for_seeds("host", [SEED], (), (), domains)
    return LinkFilter(scope, domains.registered_domain, remembered=remembered)


def links_of_page(urls: list[Url]) -> list[Link]:
    return asyncio.run(link_filter().of_page(urls))


@pytest.mark.req("D13", "F3")
def test_only_what_is_in_scope_is_filed() -> None:
    urls = [Url("http://www.a.test/x"), Url("http://b.test/x"), Url("http://a.test/x")]
    (link,) = links_of_page(urls)
    assert link.url == "http://www.a.test/x"
    assert (link.host, link.domain) == (HostKey("www.a.test"), "a.test")
    assert len(link.key) == 16


@pytest.mark.req("F7")
def test_each_page_is_filed_once_under_the_first_of_its_spellings() -> None:
    spellings = ["http://www.a.test/?b=1&a=2", "http://www.a.test/?a=2&b=1", "http://www.a.test/y"]
    urls = [url for text in spellings if (url := normalise(text))]
    links = links_of_page(urls)
    assert [link.url for link in links] == ["http://www.a.test/?b=1&a=2", "http://www.a.test/y"]


def test_keys_tell_pages_apart_as_fingerprints_do() -> None:
    one = link_filter()
    keys = {one.file(Url(f"http://www.a.test/{number}")).key for number in range(100)}
    assert len(keys) == 100


def test_a_seed_is_filed_though_it_may_be_out_of_scope() -> None:
    assert link_filter().file(Url("http://b.test/")).host == "b.test"
    assert link_filter().judge(Url("http://b.test/")) is None


def test_a_stronger_spelling_is_what_is_fetched_judged_and_compared() -> None:
    prefix = Url("http://a.test/docs/")
    strong = LinkFilter(Scope.for_prefix(prefix), str, spelling=merge_slashes, comparing=str)
    link = strong.judge(Url("http://a.test//docs//x"))
    assert link is not None
    assert link.url == "http://a.test/docs/x"
    assert link.key == strong.file(Url("http://a.test/docs/x")).key


def test_what_is_remembered_is_bounded() -> None:
    """Forgotten URLs are judged again; long ones are not remembered at all."""
    small = link_filter(remembered=10)
    urls = [Url(f"http://www.a.test/{number}") for number in range(50)]
    first = [small.judge(url) for url in urls]
    assert [small.judge(url) for url in urls] == first
    assert len(small._links) == 10
    small.judge(Url("http://www.a.test/" + "x" * MAX_REMEMBERED_LENGTH))
    assert len(small._links) == 10


def test_a_page_with_very_many_links_does_not_displace_those_of_others() -> None:
    links = link_filter(remembered=100_000)
    urls = [Url(f"{SEED}{number}") for number in range(2 * REMEMBERED_OF_PAGE)]
    assert len(asyncio.run(links.of_page(urls))) == len(urls)
    assert [*links._links] == urls[:REMEMBERED_OF_PAGE]
    assert asyncio.run(links.of_page(urls[::-1]))[0].url == urls[-1]
    assert {*links._links} == {*urls}, "they are remembered where they are among the first"


def test_to_forget_costs_the_same_however_much_is_remembered() -> None:
    def seconds(remembered: int) -> float:
        many = link_filter(remembered)
        for number in range(remembered):
            many.judge(Url(f"http://b.test/{number}"))
        started = time.process_time()
        for number in range(20_000):
            many.judge(Url(f"http://b.test/x{number}"))
        return time.process_time() - started

    assert seconds(40_000) < 5 * seconds(100)


def test_links_to_a_host_share_its_name() -> None:
    """100,000 are remembered: that is 6 MB."""
    first, second = links_of_page([Url("http://www.a.test/1"), Url("http://www.a.test/2")])
    assert first.host is second.host
