"""The workers in the status of a crawl: those of a running one, and of no other."""

import asyncio
from typing import cast

import msgspec
import pytest

from gossamer.stores.crawl_views import CrawlCounts, HostView, WorkerView
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import UrlState
from gossamer.views.crawls import StoredCrawl
from gossamer.views.status import CrawlStatus, crawl_status

NEW = WorkerView(number=2, hosts=0, in_progress=0, silent_s=0.0)
TOLD = WorkerView(
    number=1,
    pid=4711,
    machine="one.example",
    hosts=12,
    in_progress=16,
    memory=104_000_000,
    busy=0.5,
    silent_s=0.5,
)
WORKERS = [TOLD, NEW]
COUNTS = CrawlCounts(
    states=dict.fromkeys(UrlState, 1),
    outcomes={},
    causes=[],
    depths=[],
    queues={},
    pages=1,
    visits=1,
    bytes=1,
    hosts=1,
    started_at=None,
    last_at=None,
    running=True,
    closed=False,
)


class ReaderWithWorkers:
    """The reader of a crawl at which two workers have worked, perhaps until it crashed."""

    where = "a crawl"
    directory = None

    def __init__(self, counts: CrawlCounts) -> None:
        self._counts = counts

    async def metadata(self, name: str) -> bytes | None:
        return None

    async def counts(self) -> CrawlCounts:
        return self._counts

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        return []

    async def workers(self, now: float) -> list[WorkerView]:
        return WORKERS


def status_of(counts: CrawlCounts) -> CrawlStatus:
    crawl = StoredCrawl(cast("CrawlReader", ReaderWithWorkers(counts)), None)
    return asyncio.run(crawl_status(crawl, 0.0))


@pytest.mark.req("F5", "D18")
def test_a_running_crawl_has_its_workers() -> None:
    found = status_of(COUNTS)
    assert (found.state, [one.number for one in found.workers]) == ("running", [1, 2])


@pytest.mark.parametrize(("closed", "state"), [(False, "crashed"), (True, "interrupted")])
def test_a_crawl_that_does_not_run_has_none(closed: bool, state: str) -> None:
    found = status_of(msgspec.structs.replace(COUNTS, running=False, closed=closed))
    assert (found.state, found.workers) == (state, [])


def test_the_form_is_flat_and_what_was_not_told_is_null() -> None:
    first, second = msgspec.to_builtins(WORKERS)
    assert first == {
        "number": 1,
        "pid": 4711,
        "machine": "one.example",
        "hosts": 12,
        "in_progress": 16,
        "memory": 104_000_000,
        "busy": 0.5,
        "silent_s": 0.5,
        "dead_in_s": 0.0,
    }
    assert second["pid"] is second["machine"] is second["memory"] is second["busy"] is None
    assert set(first) == set(second)
