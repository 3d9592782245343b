"""The log of a crawl's file is written back beside the crawl, which does not wait for the disk."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.frontier.contract import Link
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model import HostKey, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.sqlite.file import Checkpoints
from gossamer.stores.sqlite.rows import SqliteRows

LOG_BYTES = 300_000
STEPS = 2_000


class GrowingFile:
    """A store that is filled, ten URLs at a time, each time durably."""

    def __init__(self, path: Path) -> None:
        self.log = path.with_name(f"{path.name}-wal")
        self.store = Frontier(SqliteRows(path, log_bytes=LOG_BYTES), FrontierRules(), 0.0)
        self.added = 0

    async def add_until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(STEPS):
            if is_so():
                return
            numbers = range(self.added, self.added + 10)
            await self.store.add_seeds([link(number) for number in numbers], 0.0)
            await self.store.commit()
            self.added += 10
        pytest.fail(f"not so after {STEPS} steps, with a log of {self.log_bytes()} bytes")

    def log_bytes(self) -> int:
        return self.log.stat().st_size


def link(number: int) -> Link:
    url = Url(f"http://a.test/{number}/{'x' * 500}")
    return Link(url, b"%-16d" % number, HostKey("a.test"), "a.test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.sqlite"


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (found,) = db.execute("SELECT count(*) FROM urls").fetchone()
        return int(found)


@pytest.mark.req("B1", "D10")
def test_the_log_is_emptied_again_and_again_and_nothing_is_lost(path: Path) -> None:
    async def main() -> int:
        crawl = GrowingFile(path)
        for _ in range(3):
            await crawl.add_until(lambda: crawl.log_bytes() > LOG_BYTES)
            await crawl.add_until(lambda: crawl.log_bytes() < LOG_BYTES / 2)
        await crawl.store.close()
        return crawl.added

    added = asyncio.run(main())
    assert count(path) == added


@pytest.mark.req("B1", "D10")
def test_a_reader_keeps_the_log_from_being_emptied_and_the_crawl_goes_on(path: Path) -> None:
    async def main() -> int:
        crawl = GrowingFile(path)
        await crawl.add_until(lambda: crawl.added >= 10)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            seen = reader.execute("SELECT count(*) FROM urls").fetchone()
            await crawl.add_until(lambda: crawl.log_bytes() > 3 * LOG_BYTES)
            assert reader.execute("SELECT count(*) FROM urls").fetchone() == seen
        await crawl.add_until(lambda: crawl.log_bytes() < LOG_BYTES / 2)
        await crawl.store.close()
        return crawl.added

    added = asyncio.run(main())
    assert count(path) == added


@pytest.mark.req("B1", "C12")
def test_an_error_of_the_disk_ends_the_crawl(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Checkpoints, __: str) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    async def main() -> None:
        crawl = GrowingFile(path)
        monkeypatch.setattr(Checkpoints, "_run", fail)
        with pytest.raises(CrawlError, match="disk I/O error"):
            await crawl.add_until(lambda: False)
        with pytest.raises(CrawlError, match="disk I/O error"):
            await crawl.store.commit()
        await crawl.store.close()

    asyncio.run(main())
