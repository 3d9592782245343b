"""A crawl that visits pages again, and is sound all the same."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import xxhash
from tests.unit.views.reading import broken, in_directory, listed_pages

from gossamer.frontier.contract import HostFeedback, KeptPage, Link, Settlement
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import Outcome, Url
from gossamer.stores.bodies import ContentPacker
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.urls import Scope
from gossamer.worker.link_filter import LinkFilter

OPTIONS = {
    "seeds": ["http://a.test/"],
    "scope": "host",
    "revisit_s": 3600.0,
    "queues": 10,
    "similarity": 0.9,
}


def link(path: str) -> Link:
    return LinkFilter(Scope.for_seeds("any", []), str).file(Url(f"http://a.test{path}"))


async def visit(store: Frontier, body: bytes, links: list[str], now: float) -> str:
    """Fetch the next URL of the store, and return it."""
    candidates = await store.candidates(10)
    await store.prioritise([(one, 5.0) for one in candidates])
    await store.route([range(10)], now)
    (task,) = (await store.lease(0, 1, now)).tasks
    digest = xxhash.xxh3_128_digest(body)
    page_id = (await store.claim(task, digest, None, now)).page_id
    assert page_id is not None
    packed = ContentPacker().pack(body)
    page = KeptPage(page_id=page_id, size=len(body), digest=digest, content=packed, fetched_at=now)
    await store.settle(
        Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            size=len(body),
            page=page,
            links=[link(one) for one in links],
            feedback=HostFeedback(ended=now),
        ),
        now,
    )
    await store.commit()
    return task.url


@pytest.mark.req("B1", "D11")
def test_pages_that_were_visited_again(tmp_path: Path) -> None:
    crawl = in_directory(tmp_path)

    async def run() -> None:
        rules = FrontierRules(scheduler=SchedulerRules(delay_s=0.0), revisit_s=3600.0)
        store = Frontier(SqliteRows(tmp_path / "crawl.sqlite"), rules, 0.0)
        await store.put_metadata("options", msgspec.json.encode(OPTIONS))
        await store.join(0, 0.0)
        await store.add_seeds([link("/")], 0.0)
        assert await visit(store, b"root", ["/a"], 1.0) == "http://a.test/"
        assert await visit(store, b"a", ["/", "/b"], 3000.0) == "http://a.test/a"
        assert await visit(store, b"b", ["/"], 4000.0) == "http://a.test/b"
        assert broken(crawl, 4000.5) == {}
        assert await visit(store, b"new", ["/c"], 4001.0) == "http://a.test/"
        assert broken(crawl, 4002.0) == {}
        assert await visit(store, b"root", [], 4002.0) == "http://a.test/c"
        await store.close()
        assert broken(crawl, 9000.0) == {}

    asyncio.run(run())
    pages = {page.url: (page.id, page.visits) for page in listed_pages(crawl)}
    assert pages == {
        "http://a.test/": (1, 2),
        "http://a.test/a": (2, 1),
        "http://a.test/b": (3, 1),
        "http://a.test/c": (4, 1),
    }
    for rule, damage in {
        "once": "UPDATE attempts SET at = 4001 - 3599 WHERE url = 1 AND at = 1",
        "visits": "UPDATE notes SET value = CAST('4' AS BLOB) WHERE name = 'visits'",
        "fetched": "INSERT INTO pages SELECT 5, url, size, digest, attributes, fetched_at, "
        "reported_depth FROM pages WHERE id = 1",
    }.items():
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        (tmp_path / "damaged").mkdir()
        shutil.copy(tmp_path / "crawl.sqlite", tmp_path / "damaged" / "crawl.sqlite")
        with closing(sqlite3.connect(tmp_path / "damaged" / "crawl.sqlite")) as db, db:
            db.execute(damage)
        assert rule in broken(in_directory(tmp_path / "damaged"), 9000.0)
