"""Another process that writes to the file of a crawl makes it wait, and costs it nothing."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.errors import CrawlError
from gossamer.model import HostKey, Url
from gossamer.stores import EmbeddedStore, Link, StoreRules
from gossamer.stores.embedded.atomic import wait_until_ready
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.embedded.sqlite.file import VERSION, begin
from gossamer.stores.embedded.sqlite.readonly import reading


def link(number: int) -> Link:
    url = Url(f"http://a.test/{number}")
    return Link(url, b"%016d" % number, HostKey("a.test"), "a.test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.sqlite"


@pytest.fixture
def intruder(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another process: between two transactions of the store it begins one of its own."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
        waiting = [other]

        def begin_after_the_other(db: sqlite3.Connection) -> bool:
            while waiting:
                waiting.pop().execute("BEGIN IMMEDIATE")
            return begin(db)

        monkeypatch.setattr("gossamer.stores.embedded.sqlite.backend.begin", begin_after_the_other)
        yield other


@pytest.mark.req("B1", "D10", "D15")
def test_a_step_waits_until_the_other_has_finished(
    path: Path, intruder: sqlite3.Connection
) -> None:
    async def main() -> None:
        store = EmbeddedStore(SqliteBackend(path), StoreRules(), 0.0)
        assert await store.add_seeds([link(1)], 0.0) == 1
        await store.commit()
        step = asyncio.create_task(store.add_seeds([link(2)], 0.0))
        await asyncio.wait([step], timeout=0.05)
        assert not step.done()
        intruder.execute("COMMIT")
        assert await step == 1
        await store.commit()
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 10))
    backend = SqliteBackend(path)
    assert [one.url for one in backend.records()] == ["http://a.test/1", "http://a.test/2"]
    backend.close()


@pytest.mark.req("B1")
def test_a_step_that_is_cancelled_while_it_waits_breaks_nothing(
    path: Path, intruder: sqlite3.Connection
) -> None:
    async def main() -> None:
        store = EmbeddedStore(SqliteBackend(path), StoreRules(), 0.0)
        await store.commit()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(store.add_seeds([link(1)], 0.0), 0.01)
        intruder.execute("COMMIT")
        assert await store.add_seeds([link(1)], 0.0) == 1
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 10))


@pytest.mark.usefixtures("intruder")
def test_one_who_never_finishes_ends_the_crawl_with_a_sentence(path: Path) -> None:
    async def main() -> None:
        store = EmbeddedStore(SqliteBackend(path), StoreRules(), 0.0)
        await store.commit()
        await wait_until_ready(store, pauses_s=[0.0, 0.0])
        with pytest.raises(CrawlError, match="another process has been writing"):
            await store.add_seeds([link(1)], 0.0)
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_a_file_of_an_older_format_is_refused(path: Path) -> None:
    SqliteBackend(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
    words = rf"an older Gossamer \(format 1, this one has {VERSION}\)"
    with pytest.raises(CrawlError, match=words):
        SqliteBackend(path)
    with pytest.raises(CrawlError, match=words), reading(path):
        pass
