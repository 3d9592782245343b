"""Sentinels promote the replica of a primary that has died, and the crawl follows them."""

from typing import TYPE_CHECKING

import pytest
from redis_sentinels import WatchedPair

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult


@pytest.mark.req("B1", "B3", "D15")
def test_the_primary_dies_and_the_sentinels_promote_its_replica(
    start_server: "StartServer", make_crawl: "MakeCrawl", expected: "CrawlResult"
) -> None:
    """The processes were given the address of the Sentinels, of which one is dead as well."""
    pair = WatchedPair(start_server)
    pair.await_watch()
    crawl = make_crawl(pair.url)
    run = crawl.crawl()
    crawl.await_requests(30)
    pair.sentinels[0].kill()
    pair.primary.kill()
    said = run.succeed()
    assert "The store does not answer" in said
    assert "died" not in said
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
