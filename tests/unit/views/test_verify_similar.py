"""A page whose links were followed because it was similar to another may have to be seen again."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.contract.samples import digest_of, own_of, sketch_of
from tests.unit.views.reading import broken, in_directory, listed_urls

from gossamer.frontier.contract import THIS_PAGE, HostFeedback, Link, Settlement, Task, as_claimed
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import Outcome, Url
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.urls import Scope
from gossamer.worker.link_filter import LinkFilter

SEEDS = ["http://a.test/1", "http://b.test/2"]
OPTIONS = {"seeds": SEEDS, "scope": "any", "ttl_s": 3600.0}


def link(url: str) -> Link:
    return LinkFilter(Scope.for_seeds("any", []), str).file(Url(url))


@pytest.mark.req("B1", "D9")
def test_the_pages_behind_it_stay_sound(tmp_path: Path) -> None:
    crawl = in_directory(tmp_path)

    async def claim_as_similar(store: Frontier, original: Task, similar: Task) -> None:
        own = {THIS_PAGE: own_of()}
        await store.claim(original, digest_of("one"), sketch_of("news"), 1.0, own)
        claim = await store.claim(similar, digest_of("two"), sketch_of("news", 5), 1.0, own)
        settlement = Settlement(
            task=similar,
            outcome=Outcome.FETCHED,
            links=[link("http://b.test/behind")],
            feedback=HostFeedback(ended=1.0),
        )
        await store.settle(as_claimed(settlement, claim), 1.0)

    async def run() -> None:
        store = Frontier(
            SqliteRows(tmp_path / "crawl.sqlite"),
            FrontierRules(scheduler=SchedulerRules(delay_s=0.0)),
            0.0,
        )
        await store.put_metadata("options", msgspec.json.encode(OPTIONS))
        await store.join(0, 0.0)
        await store.add_seeds([link(seed) for seed in SEEDS], 0.0)
        await store.prioritise([(one, 5.0) for one in await store.candidates(10)])
        await store.route([range(10)] * 2, 0.0)
        original, similar = (await store.lease(0, 2, 0.0)).tasks
        await claim_as_similar(store, original, similar)
        failed = HostFeedback(ended=1.0)
        gone = Settlement(task=original, outcome=Outcome.NOT_FOUND, feedback=failed)
        await store.settle(gone, 1.0)
        await store.close()

    asyncio.run(run())
    states = {str(one.url): one.url_state for one in listed_urls(crawl)}
    assert states["http://b.test/2"] == "unscored", "what it repeats was not kept"
    assert states["http://b.test/behind"] == "unscored"
    assert broken(crawl, 2.0) == {}
