"""Every entry of the catalogue of hostile servers: it ends as it should, and harms nobody."""

import pytest
from tests.hostile.catalogue import CATALOGUE, NOT_HERE
from tests.hostile.conftest import HostileCrawlResult

from gossamer.model import Outcome
from gossamer.testing.simulator import FAULTS

PATIENCE_S = 120
"""Ten times what it takes: no fault holds the crawl."""


@pytest.mark.req("D19", "B6")
@pytest.mark.parametrize("fault", CATALOGUE)
def test_fault(fault: str, crawled: HostileCrawlResult) -> None:
    ends = {path: crawled.outcomes.get(f"http://{fault}.test{path}") for path in CATALOGUE[fault]}
    assert ends == CATALOGUE[fault]


@pytest.mark.req("D19")
def test_honest_hosts_beside_them_lose_no_page(crawled: HostileCrawlResult) -> None:
    assert {crawled.outcomes.get(url) for url in crawled.honest} == {Outcome.FETCHED}


@pytest.mark.req("D19")
def test_nothing_is_asked_of_the_crawlers_machine(crawled: HostileCrawlResult) -> None:
    loopback = {url: end for url, end in crawled.outcomes.items() if url.endswith(":9/")}
    assert set(loopback.values()) == {Outcome.ADDRESS_REFUSED}


@pytest.mark.req("D19")
def test_the_crawl_ends_whole_and_in_time(crawled: HostileCrawlResult) -> None:
    assert (crawled.ended_by, crawled.broken) == ("complete", [])
    assert crawled.took_s < PATIENCE_S


def test_every_fault_has_an_entry() -> None:
    assert {*CATALOGUE} | NOT_HERE == {*FAULTS}
