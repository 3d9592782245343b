import asyncio
from collections.abc import AsyncIterator
from typing import cast

from gossamer.coordinator.summary import URLS_READ, GivenUpHost, given_up_hosts, read_given_up
from gossamer.frontier.contract import HOST_FAILED, POISON_WORDS
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.crawl_views import ListedUrl
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import UrlRecord, UrlState


def given_up(host: str, at: float, detail: str = HOST_FAILED) -> UrlRecord:
    return UrlRecord(
        id=1,
        url=Url(f"http://{host}/"),
        host=HostKey(host),
        domain=host,
        state=UrlState.DONE,
        depth=0,
        parent=None,
        score=None,
        queue=None,
        outcome=Outcome.GAVE_UP,
        detail=detail,
        page_id=None,
        found_at=1.0,
        finished_at=at,
        attempts=1,
    )


def test_hosts_are_told_with_their_first_moment_and_their_last_reason() -> None:
    found = given_up_hosts(
        [
            given_up("b.test", 5.0),
            given_up("a.test", 9.0),
            given_up("a.test", 7.0, f"{HOST_FAILED}: it is on fire"),
            given_up("a.test", 8.0, f"{HOST_FAILED}: it is ashes"),
            given_up("c.test", 1.0, POISON_WORDS),
        ]
    )
    assert found == [
        GivenUpHost(host=HostKey("a.test"), at=7.0, urls=3, reason="it is ashes"),
        GivenUpHost(host=HostKey("b.test"), at=5.0, urls=1, reason=""),
    ]


class Endless:
    """A crawl with more URLs than anybody could look at."""

    read = 0

    async def urls(self) -> AsyncIterator[ListedUrl]:
        while True:
            self.read += 1
            yield ListedUrl(given_up("a.test", 1.0), None, None)


def test_of_a_large_crawl_only_the_first_urls_are_looked_at() -> None:
    crawl = Endless()
    reader = cast("CrawlReader", crawl)
    assert asyncio.run(read_given_up(reader, {"fetched": 9})) == []
    assert crawl.read == 0, "nothing was given up"
    (host,) = asyncio.run(read_given_up(reader, {"gave_up": 10**9}))
    assert (host.urls, crawl.read) == (URLS_READ, URLS_READ)
