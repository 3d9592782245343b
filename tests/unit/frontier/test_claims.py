"""Which page another repeats; and what is remembered to know it."""

import asyncio

import pytest

from gossamer.frontier.claims import Claims, DuplicateIndex, LshIndex
from gossamer.frontier.contract import Claim, KeptPage, Link
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.frontier.url_memory import UrlPath
from gossamer.model import HostKey, Url
from gossamer.model.names import Sketch
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import UrlState

KEEP_S = 100.0


def sketch(number: int) -> Sketch:
    return Sketch((b"%08d" % number, b"%08d" % (number + 500)), bytes([number]) * 64)


class ClaimedPages:
    """A crawl in memory with claims, and pages that are kept in it."""

    def __init__(self, similarity: float | None = 0.9) -> None:
        self.rows = SqliteRows()
        self.memory = CrawlMemory(self.rows, with_times=False)
        self.claims = Claims(0, [])
        self.duplicates = DuplicateIndex(self.memory, self.claims, similarity, KEEP_S, 0.0)

    def claim(self, number: int, digest: bytes, now: float = 0.0) -> Claim:
        return self.duplicates.claim(number, digest, sketch(number), now)

    def keep(self, number: int, now: float) -> None:
        digest = b"%-16d" % number
        assert self.claim(number, digest, now) == Claim(number)
        claim = self.claims.of_url[number]
        link = Link(Url(f"http://a.test/{number}"), digest, HostKey("a.test"), "a.test")
        host = self.memory.hosts.id_of(link.host, link.domain)
        self.memory.urls.add(link, host, UrlState.TOO_DEEP, UrlPath(0, 0, None), now)
        page = KeptPage(page_id=number, size=1, digest=digest, content=b"", fetched_at=now)
        self.memory.pages.add(number, page, 0, claim.sketch)
        self.claims.fulfil(number)

    def expire(self, before: float, limit: int) -> None:
        """Forget some of the pages, as whoever expires contents does."""
        self.memory.write()
        self.duplicates.forget(self.memory.pages.expired(before, limit))


@pytest.mark.req("D10")
def test_what_expires_leaves_nothing_behind() -> None:
    crawl = ClaimedPages()
    for number in range(1, 21):
        crawl.keep(number, float(number))
    assert len(crawl.duplicates) == 40
    crawl.expire(10.0, 5)
    assert len(crawl.duplicates) == 30
    crawl.expire(10.0, 50)
    assert len(crawl.duplicates) == 20
    crawl.memory.write()
    again = DuplicateIndex(crawl.memory, Claims(20, []), 0.9, KEEP_S, 115.0)
    assert len(again) == 10, "of those fetched after 15"


def test_what_is_given_up_leaves_nothing_behind() -> None:
    crawl = ClaimedPages()
    assert crawl.claim(1, b"1" * 16) == Claim(1)
    claim = crawl.claims.of_url[1]
    crawl.duplicates.drop(claim)
    assert len(crawl.duplicates) == 0


def test_nothing_is_remembered_where_everything_is_kept() -> None:
    crawl = ClaimedPages(similarity=None)
    for number in (1, 2):
        assert crawl.duplicates.claim(number, b"s" * 16, sketch(1), 0.0) == Claim(number)
    assert len(crawl.duplicates) == 0


def test_samples_of_another_length_are_not_compared() -> None:
    crawl = ClaimedPages(similarity=0.1)
    crawl.claim(1, b"1" * 16)
    longer = Sketch(sketch(1).bands, bytes([1]) * 128)
    assert crawl.duplicates.claim(2, b"2" * 16, longer, 0.0) == Claim(2)


@pytest.mark.req("D10", "D11")
def test_a_store_forgets_what_has_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    indices: list[LshIndex] = []

    class Watched(LshIndex):
        def __init__(self) -> None:
            super().__init__()
            indices.append(self)

    monkeypatch.setattr("gossamer.frontier.claims.LshIndex", Watched)
    crawl = ClaimedPages()
    crawl.keep(1, 10.0)
    crawl.memory.write()
    store = Frontier(crawl.rows, FrontierRules(keep_s=KEEP_S), 20.0)
    assert len(indices[-1]) == 2
    asyncio.run(store.expire(10.0 + KEEP_S))
    assert len(indices[-1]) == 0
