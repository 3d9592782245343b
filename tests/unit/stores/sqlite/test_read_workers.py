"""Another process sees the workers of a crawl in a file, while a process works on it."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import asdict

from gossamer.config import StoreAddress
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model.errors import CrawlError
from gossamer.stores.crawl_views import WORKERS_NAME, ReadRequest, WorkerReport, WorkerView
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.sqlite.rows import SqliteRows, open_sqlite_reader

REPORT = WorkerReport(pid=4711, machine="here", memory=80_000_000, busy=0.5)


async def read(directory: Path, now: float) -> list[WorkerView]:
    request = ReadRequest(address=StoreAddress("sqlite"), directory=directory)
    async with open_sqlite_reader(request) as reader:
        return await reader.workers(now)


def test_they_are_seen_as_they_were_told_last(tmp_path: Path) -> None:
    async def story() -> None:
        with CrawlDirectory(tmp_path) as directory:
            store = Frontier(SqliteRows(directory.database), FrontierRules(), 10.0)
            await store.join(0, 10.0)
            await store.commit()
            assert await read(tmp_path, 10.0) == [], "nobody has told anything yet"
            await store.join(1, 14.0, REPORT)
            await store.note_workers(16.0)
            await store.commit()
            expected = [
                WorkerView(number=0, hosts=0, in_progress=0, silent_s=6.0, dead_in_s=114.0),
                WorkerView(
                    **asdict(REPORT),
                    number=1,
                    hosts=0,
                    in_progress=0,
                    silent_s=2.0,
                    dead_in_s=118.0,
                ),
            ]
            assert await read(tmp_path, 16.0) == expected
            await store.dismiss(1, [], 17.0)
            await store.commit()
            assert [one.number for one in await read(tmp_path, 17.0)] == [0]
            await store.join(1, 18.0, REPORT)
            await store.close()
            assert await read(tmp_path, 18.0) == []

    asyncio.run(story())


def test_nobody_is_there_after_a_crash(tmp_path: Path) -> None:
    async def story() -> None:
        with CrawlDirectory(tmp_path) as directory:
            store = Frontier(SqliteRows(directory.database), FrontierRules(), 10.0)
            await store.join(0, 10.0, REPORT)
            await store.commit()
            store.rows.close()
        assert await read(tmp_path, 10.0) == []

    asyncio.run(story())


def test_a_damaged_note_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        with CrawlDirectory(tmp_path) as directory:
            store = Frontier(SqliteRows(directory.database), FrontierRules(), 10.0)
            await store.join(0, 10.0)
            await store.put_metadata(WORKERS_NAME, b"?")
            await store.commit()
            with pytest.raises(CrawlError, match="workers"):
                await read(tmp_path, 10.0)
            await store.close()

    asyncio.run(story())
