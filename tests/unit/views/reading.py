"""What the views say of a crawl, each in one call."""

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gossamer.config import StoreAddress
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.url_record import PageRecord
from gossamer.urls import parse_seed
from gossamer.views.crawls import UrlEntry, list_urls, open_crawl
from gossamer.views.explain import Explanation, explain
from gossamer.views.status import CrawlStatus, crawl_status
from gossamer.views.verify import Verification, verify

T = TypeVar("T")


def in_directory(directory: Path) -> ReadRequest:
    """Return the crawl in a directory."""
    return ReadRequest(address=StoreAddress("sqlite"), directory=directory)


def in_redis(url: str, name: str | None) -> ReadRequest:
    """Return a crawl in Redis."""
    return ReadRequest(address=StoreAddress("redis", url=url), name=name)


def status(crawl: ReadRequest) -> CrawlStatus:
    async def read() -> CrawlStatus:
        async with open_crawl(crawl) as stored:
            return await crawl_status(stored, time.time())

    return _run(read())


def explained(crawl: ReadRequest, url: str, now: float | None = None) -> Explanation:
    async def read() -> Explanation:
        async with open_crawl(crawl) as stored:
            return await explain(stored, parse_seed(url), now or time.time())

    return _run(read())


def verified(crawl: ReadRequest, now: float | None = None) -> Verification:
    return _run(verify(crawl, now or time.time()))


def broken(crawl: ReadRequest, now: float | None = None) -> dict[str, list[str]]:
    """Return the checks that failed, with examples."""
    found = verified(crawl, now)
    assert found.sound == (not any(one.broken for one in found.findings))
    return {one.rule: one.examples for one in found.findings if one.broken}


def listed_pages(crawl: ReadRequest) -> list[PageRecord]:
    async def read() -> list[PageRecord]:
        async with open_crawl(crawl) as stored:
            return [page async for page in stored.reader.pages()]

    return _run(read())


def listed_urls(crawl: ReadRequest) -> list[UrlEntry]:
    async def read() -> list[UrlEntry]:
        async with open_crawl(crawl) as stored:
            return [entry async for entry in list_urls(stored)]

    return _run(read())


def bodies(crawl: ReadRequest) -> dict[str, bytes | None]:
    """Return the body of every page by its URL."""

    async def read() -> dict[str, bytes | None]:
        async with open_crawl(crawl) as stored:
            reader = stored.reader
            return {page.url: await reader.content(page.id) async for page in reader.pages()}

    return _run(read())


def _run(read: Coroutine[object, object, T]) -> T:
    """Run it in a thread of its own: some tests read a crawl in the midst of its event loop."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, read).result()
