"""Which page another repeats; and what is remembered to know it."""

import asyncio

import pytest

from gossamer.content.similarity import Sketch
from gossamer.model import HostKey, Url
from gossamer.stores import EmbeddedStore, StoreRules
from gossamer.stores.claim import KeptPage
from gossamer.stores.contract import Link
from gossamer.stores.embedded.claims import Claims
from gossamer.stores.embedded.duplicates import DuplicateIndex, Original, Unread
from gossamer.stores.embedded.lsh_index import LshIndex, StoredBands
from gossamer.stores.embedded.rows import UrlPath
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.url_record import UrlState

KEEP_S = 100.0


def sketch(number: int) -> Sketch:
    return Sketch((b"%08d" % number, b"%08d" % (number + 500)), bytes([number]) * 64)


class ClaimedPages:
    """A backend with claims, and pages that are put on it."""

    def __init__(self, similarity: float | None = 0.9) -> None:
        self.backend = SqliteBackend()
        self.claims = Claims(0, [])
        self.duplicates = DuplicateIndex(self.backend, self.claims, similarity, KEEP_S, 0.0)

    def claim(self, number: int, digest: bytes, now: float = 0.0) -> Original | Unread | int:
        return self.duplicates.claim(number, digest, sketch(number), now)

    def keep(self, number: int, now: float) -> None:
        digest = b"%016d" % number
        assert self.claim(number, digest, now) == number
        claim = self.claims.held(number)
        assert claim is not None
        link = Link(Url(f"http://a.test/{number}"), digest, HostKey("a.test"), "a.test")
        self.backend.add_new(link, UrlState.TOO_DEEP, UrlPath(0, 0, None), now)
        self.backend.write_new()
        page = KeptPage(page_id=number, size=1, digest=digest, content=b"", fetched_at=now)
        self.backend.add_page(number, page, 0, claim.sketch)
        self.claims.keep(number)


@pytest.mark.req("D10")
def test_what_expires_leaves_nothing_behind() -> None:
    scheduler = ClaimedPages()
    for number in range(1, 21):
        scheduler.keep(number, float(number))
    assert len(scheduler.duplicates) == 40
    scheduler.duplicates.forget(scheduler.backend.expire_content(10.0, 5))
    assert len(scheduler.duplicates) == 30
    scheduler.duplicates.forget(scheduler.backend.expire_content(10.0, 50))
    assert len(scheduler.duplicates) == 20
    again = DuplicateIndex(scheduler.backend, Claims(20, []), 0.9, KEEP_S, 115.0)
    assert len(again) == 10, "of those fetched after 15"


def test_what_is_given_up_leaves_nothing_behind() -> None:
    scheduler = ClaimedPages()
    assert scheduler.claim(1, b"1") == 1
    claim = scheduler.claims.held(1)
    assert claim is not None
    scheduler.duplicates.drop(claim)
    assert len(scheduler.duplicates) == 0


def test_nothing_is_remembered_where_everything_is_kept() -> None:
    scheduler = ClaimedPages(similarity=None)
    for number in (1, 2):
        assert scheduler.duplicates.claim(number, b"same", sketch(1), 0.0) == number
    assert len(scheduler.duplicates) == 0


def test_samples_of_another_length_are_not_compared() -> None:
    scheduler = ClaimedPages(similarity=0.1)
    scheduler.claim(1, b"1")
    longer = Sketch(sketch(1).bands, bytes([1]) * 128)
    assert scheduler.duplicates.claim(2, b"2", longer, 0.0) == 2


@pytest.mark.req("D10", "D11")
def test_a_store_forgets_what_has_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    indices: list[LshIndex] = []

    class Watched(LshIndex):
        def __init__(self, table: StoredBands) -> None:
            super().__init__(table)
            indices.append(self)

    monkeypatch.setattr("gossamer.stores.embedded.duplicates.LshIndex", Watched)
    scheduler = ClaimedPages()
    scheduler.keep(1, 10.0)
    store = EmbeddedStore(scheduler.backend, StoreRules(keep_s=KEEP_S), 20.0)
    assert len(indices[-1]) == 2
    asyncio.run(store.expire(10.0 + KEEP_S))
    assert len(indices[-1]) == 0
