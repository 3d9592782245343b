"""A copy of a crawl in Redis is as the crawl was after one commit, also while it goes on."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

import pytest
from tests.unit.views.reading import broken, in_redis

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.row_keys import HOLD_S, WATCHED_S
from gossamer.stores.rows import Changes
from gossamer.views.redis_copy import ATTEMPTS, FEW_ROWS, copy_crawl
from gossamer.views.redis_rows import RowSource

if TYPE_CHECKING:
    from tests.verify.conftest import CrawlLab


@pytest.mark.req("B1", "D13")
def test_a_crawl_that_has_ended_is_sound(lab: "CrawlLab") -> None:
    assert asyncio.run(lab.crawl()) == "complete"
    found = lab.verified()
    assert [(one.rule, one.examples) for one in found.findings if one.broken] == []
    assert (found.complete, found.running) == (True, False)
    assert found.pages > 100
    assert {"store", "claims", "leases", "counters"} <= {one.rule for one in found.findings}


def test_a_crawl_that_was_interrupted_is_sound(lab: "CrawlLab") -> None:
    assert asyncio.run(lab.crawl(40)) == "interrupted"
    assert lab.broken() == {}


@pytest.mark.req("B1", "D13")
def test_every_rule_holds_while_it_goes_on(lab: "CrawlLab") -> None:
    """It is verified again and again, from its beginning to its end."""
    lab.rows().close()  # there is something to verify from the beginning
    lab.resign()
    ended: list[str] = []
    crawling = threading.Thread(target=lambda: ended.append(asyncio.run(lab.crawl())))
    crawling.start()
    pages, were_running = [], 0
    while crawling.is_alive():
        found = lab.verified()
        assert [(one.rule, one.examples) for one in found.findings if one.broken] == []
        pages.append(found.pages)
        were_running += found.running
    crawling.join()
    assert ended == ["complete"]
    assert pages == sorted(pages)
    assert were_running >= 3, pages


def test_what_is_in_progress_is_copied(lab: "CrawlLab") -> None:
    async def begin() -> None:
        plan = lab.plan()
        await lab.crawl(40)
        async with lab.running(plan) as store:
            await store.join(0, time.time())
            candidates = await store.candidates(1000)
            await store.prioritise([(one, 50.0) for one in candidates])
            await store.route([range(10)] * 10, time.time())
            task, other, *_ = (await store.lease(0, 3, time.time())).tasks
            await store.claim(task, b"one content of 16", None, time.time())
            await store.claim(other, bytes(16), None, time.time())
            await store.commit()

    asyncio.run(begin())
    assert "claims" in lab.broken()
    lab.resign()
    with copy_crawl(lab.address, lab.name) as copy:
        leases = copy.connection.execute("SELECT count(*), count(claim) FROM leases").fetchone()
    assert leases == (3, 2)


def change(lab: "CrawlLab") -> Callable[[], None]:
    """Give what changes one URL, one page and one metadata value of an ended crawl a time."""
    rows = lab.rows()
    known = [*rows.known_urls()]
    numbers = iter(range(10_000))

    def commit() -> None:
        number = next(numbers)
        changes = Changes()
        (row,) = rows.read_urls([known[number % len(known)].id])
        row.deaths = number + 1
        changes.urls[row.id] = row
        changes.reported[1] = number
        changes.metadata["test"] = b"%d" % number
        finish = rows.write(changes)
        assert finish is not None
        finish()

    return commit


def meanwhile(monkeypatch: pytest.MonkeyPatch, happen: Callable[[int], None]) -> None:
    """Have something happen each time after URLs were read, with how often they were before."""
    read, times = RowSource.urls, count()

    def reading(self: RowSource, ids: Sequence[int]) -> Changes:
        changes = read(self, ids)
        happen(next(times))
        return changes

    monkeypatch.setattr(RowSource, "urls", reading)


def test_what_changes_while_it_is_read_is_read_again(
    lab: "CrawlLab", monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(lab.crawl())
    commit, held = change(lab), []

    def happen(times: int) -> None:
        if times == 0:
            for _ in range(FEW_ROWS + 1):  # too many of them for a hold
                commit()
        if times < 10:
            held.append(bool(lab.client.exists(lab.keys.hold)))
            lab.client.delete(lab.keys.hold)  # the next commit does not wait
            commit()

    meanwhile(monkeypatch, happen)
    with copy_crawl(lab.address, lab.name) as copy:
        fetched = copy.connection.execute("SELECT value FROM notes WHERE name = 'test'").fetchone()
        deaths = {
            number for (number,) in copy.connection.execute("SELECT deaths FROM urls WHERE deaths")
        }
        (reported,) = copy.connection.execute("SELECT reported_depth FROM pages LIMIT 1").fetchone()
        (urls,) = copy.connection.execute("SELECT count(*) FROM urls").fetchone()
        assert copy.wrong == []
    number, commits = int(fetched[0]), FEW_ROWS + 11
    assert (number, reported) == (commits - 1, commits - 1)
    assert deaths == {*range(commits - urls + 1, commits + 1)}, "of each of the last commits"
    assert True in held, "somebody has not waited, and all was looked at once more"


def test_a_commit_waits_no_longer_than_a_moment(lab: "CrawlLab") -> None:
    asyncio.run(lab.crawl())
    commit = change(lab)
    lab.client.set(lab.keys.hold, 1, px=50)
    before = time.monotonic()
    commit()
    assert 0.03 <= time.monotonic() - before < HOLD_S
    lab.client.set(lab.keys.hold, 1)  # for ever
    before = time.monotonic()
    commit()
    assert time.monotonic() - before < HOLD_S + 1.0


def test_nothing_is_noted_when_nobody_copies(lab: "CrawlLab") -> None:
    asyncio.run(lab.crawl())
    commit = change(lab)
    commit()
    assert not lab.client.exists(lab.keys.journal)
    lab.verified()
    commit()
    assert lab.client.llen(lab.keys.journal) == 1
    for key in (lab.keys.watched, lab.keys.journal):
        assert 0 < lab.client.ttl(key) <= WATCHED_S
    lab.client.delete(lab.keys.watched)  # as if its time were over
    commit()
    assert lab.client.llen(lab.keys.journal) == 1
    lab.verified()  # what is left of the journal is of no use, and is not taken for what is needed


@pytest.mark.parametrize("often", [1, ATTEMPTS])
def test_a_copy_whose_journal_was_lost_begins_again(
    lab: "CrawlLab", monkeypatch: pytest.MonkeyPatch, often: int
) -> None:
    asyncio.run(lab.crawl())
    commit = change(lab)
    lost: list[int] = []

    def happen(times: int) -> None:
        if len(lost) < often:
            lost.append(times)
            commit()
            lab.client.delete(lab.keys.watched, lab.keys.journal)
            commit()

    meanwhile(monkeypatch, happen)
    if often == ATTEMPTS:
        with pytest.raises(CrawlError, match="lost 3 times what was changed meanwhile"):
            lab.verified()
        return
    found = lab.verified()
    assert found.urls > 100
    assert lost == [0]


@pytest.mark.req("F5")
def test_the_command_verifies_a_shared_crawl(lab: "CrawlLab") -> None:
    asyncio.run(lab.crawl(40))
    crawl = in_redis(lab.url, lab.name)
    assert broken(crawl) == {}
    lab.client.hdel(lab.keys.urls, "7")
    assert "ids" in broken(crawl)
