"""Every entry of the catalogue of hostile servers: it ends as it should, and harms nobody."""

import pytest
from tests.hostile.catalogue import CATALOGUE, NOT_HERE, OR_ELSE
from tests.hostile.conftest import HostileCrawlResult
from tests.webs.tls_web import ALL_FAULTS

from gossamer.model import Outcome

REASONS = {
    "tls-expired": "certificate has expired",
    "tls-other-host": "'tls-other-host.test'",
    "tls-self-signed": "the host has signed it itself",
    "tls-unknown-authority": "nobody who is trusted has signed it",
    "tls-long-chain": "more certificates than a host can need",
    "tls-old": "versions of TLS that are not safe any more",
    "tls-name-unknown": "it has no host of this name",
    "tls-plain": "it does not speak TLS there",
    "tls-closes": "it closed the connection",
    "tls-silent": "connecting took too long",
    "tls-slow": "connecting took too long",
    "robots-slow": "the whole answer took too long",
    "h2-padding": "with its framing",
}
"""What `gossamer explain` says of their home pages."""

PATIENCE_S = 120
"""Ten times what it takes: no fault holds the crawl."""


@pytest.mark.req("D19", "B6")
def test_fault(crawled: HostileCrawlResult) -> None:
    ends = {
        fault: {path: crawled.outcomes.get(f"{crawled.origins[fault]}{path}") for path in expected}
        for fault, expected in CATALOGUE.items()
    }
    wrong = {
        fault: found
        for fault, found in ends.items()
        if found not in (CATALOGUE[fault], OR_ELSE.get(fault))
    }
    assert wrong == {}


@pytest.mark.req("D19")
def test_reasons_are_for_people(crawled: HostileCrawlResult) -> None:
    said = {fault: crawled.reasons[f"{crawled.origins[fault]}/"] for fault in REASONS}
    assert [fault for fault, words in REASONS.items() if words not in said[fault]] == []


@pytest.mark.req("D19")
def test_without_a_certificate_nobody_is_asked_nor_without_tls(crawled: HostileCrawlResult) -> None:
    assert [host for host in crawled.asked if host.startswith("tls-")] == []


@pytest.mark.req("D19")
def test_honest_hosts_beside_them_lose_no_page(crawled: HostileCrawlResult) -> None:
    assert {crawled.outcomes.get(url) for url in crawled.honest} == {Outcome.FETCHED}
    assert {url.partition(":")[0] for url in crawled.honest} == {"http", "https"}


@pytest.mark.req("D19")
def test_nothing_is_asked_of_the_crawlers_machine(crawled: HostileCrawlResult) -> None:
    loopback = {url: end for url, end in crawled.outcomes.items() if url.endswith(":9/")}
    assert set(loopback.values()) == {Outcome.ADDRESS_REFUSED}


@pytest.mark.req("D19")
def test_the_crawl_ends_whole_and_in_time(crawled: HostileCrawlResult) -> None:
    assert (crawled.ended_by, crawled.broken) == ("complete", [])
    assert crawled.took_s < PATIENCE_S


def test_every_fault_has_an_entry() -> None:
    assert {*CATALOGUE} | NOT_HERE == {*ALL_FAULTS}
