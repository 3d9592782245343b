"""Another process that writes to the file of a crawl makes it wait, and costs it nothing."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.frontier.contract import Link
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model import HostKey, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.sqlite.file import VERSION, begin, reading
from gossamer.stores.sqlite.rows import SqliteRows


def link(number: int) -> Link:
    url = Url(f"http://a.test/{number}")
    return Link(url, b"%-16d" % number, HostKey("a.test"), "a.test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.sqlite"


class Intruder:
    """Another process: between two transactions of the store it begins one of its own."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
        self._has_begun = threading.Event()

    def begin_first(self, db: sqlite3.Connection) -> None:
        if not self._has_begun.is_set():
            self._db.execute("BEGIN IMMEDIATE")
            self._has_begun.set()
        begin(db)

    async def begun(self) -> None:
        """Wait until it writes."""
        await asyncio.to_thread(self._has_begun.wait)

    def end(self) -> None:
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


@pytest.fixture
def intruder(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Intruder]:
    with closing(Intruder(path)) as other:
        monkeypatch.setattr("gossamer.stores.sqlite.rows.begin", other.begin_first)
        yield other


@pytest.mark.req("B1", "D10", "D15")
def test_a_commit_waits_until_the_other_has_finished_and_steps_go_on(
    path: Path, intruder: Intruder
) -> None:
    async def main() -> None:
        store = Frontier(SqliteRows(path), FrontierRules(), 0.0)
        assert await store.add_seeds([link(1)], 0.0) == 1
        committing = asyncio.create_task(store.commit())
        await intruder.begun()
        assert await store.add_seeds([link(2)], 0.0) == 1
        assert not committing.done()
        intruder.end()
        await committing
        await store.commit()
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 10))
    rows = SqliteRows(path)
    assert [one.url for one in rows.read_urls([1, 2])] == ["http://a.test/1", "http://a.test/2"]
    rows.close()


@pytest.mark.req("B1")
def test_a_commit_that_is_cancelled_while_it_waits_breaks_nothing(
    path: Path, intruder: Intruder
) -> None:
    """Who waits for what it makes durable is told all the same."""
    told: list[str] = []

    async def main() -> None:
        store = Frontier(SqliteRows(path), FrontierRules(), 0.0)
        assert await store.add_seeds([link(1)], 0.0) == 1
        store.when_durable(lambda: told.append("durable"))
        committing = asyncio.create_task(store.commit())
        await intruder.begun()
        committing.cancel()
        intruder.end()
        with pytest.raises(asyncio.CancelledError):
            await committing
        assert told == ["durable"]
        assert await store.add_seeds([link(2)], 0.0) == 1
        await store.join(0, 0.0)
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 10))
    rows = SqliteRows(path)
    assert len([*rows.known_urls()]) == 2
    rows.close()


@pytest.mark.usefixtures("intruder")
def test_one_who_never_finishes_ends_the_crawl_with_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.stores.sqlite.file.BUSY_MS", 20)

    async def main() -> None:
        store = Frontier(SqliteRows(path), FrontierRules(), 0.0)
        await store.add_seeds([link(1)], 0.0)
        with pytest.raises(CrawlError, match="another process is writing"):
            await store.commit()
        with pytest.raises(CrawlError, match="another process is writing"):
            await store.add_seeds([link(2)], 0.0)
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_a_file_of_an_older_format_is_refused(path: Path) -> None:
    SqliteRows(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
    words = rf"an older Gossamer \(format 1, this one has {VERSION}\)"
    with pytest.raises(CrawlError, match=words):
        SqliteRows(path)
    with pytest.raises(CrawlError, match=words), reading(path):
        pass
