"""Crawls of a simulated web, and their results for assertions."""

import sqlite3
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from gossamer.coordinator.api import crawl
from gossamer.coordinator.summary import Summary
from gossamer.model import Outcome, Page, Url
from gossamer.modules.contract import ModuleLike
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.reader import CrawlReader
from gossamer.stores.sqlite.file import reading
from gossamer.stores.sqlite.rows import ReadableSqliteRows
from gossamer.stores.url_record import Result, UrlRecord
from gossamer.testing.web import Web

T = TypeVar("T")
if TYPE_CHECKING:
    from tests.webs.graph import GraphProcess


class Crawled(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a crawl."""

    summary: Summary
    urls: dict[Url, UrlRecord]
    """Every known URL, as stored."""
    pages: list[Page]
    """The pages in the order of delivery to a module."""
    reported_depths: dict[int, int]
    """The last depth of each page that was reported to a module, by page number."""

    def outcome(self, url: str) -> Outcome | None:
        """Return the outcome of a URL."""
        return self.urls[Url(url)].outcome

    def outcomes(self) -> dict[str, Outcome | None]:
        """Return the outcome of every URL; None if it is not finished."""
        return {url: record.outcome for url, record in self.urls.items()}

    def depths(self) -> dict[str, int]:
        """Return the depth of every fetched page."""
        fetched = Outcome.FETCHED
        return {url: one.depth for url, one in self.urls.items() if one.outcome is fetched}


class PageRecorder:
    """A module that records pages and their depths."""

    on_loop = True

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.depths: dict[int, int] = {}

    def page(self, page: Page) -> None:
        """Record a page."""
        self.pages.append(page)
        self.depths[page.id] = page.depth

    def depth_changed(self, page_id: int, depth: int) -> None:
        """Record the new depth."""
        self.depths[page_id] = depth


async def crawl_into(
    directory: Path,
    web: "Web | GraphProcess",
    *seeds: str,
    modules: Sequence[ModuleLike | str] = (),
    **options: object,
) -> Crawled:
    """Crawl a web from the seeds, with the state in that directory, and return the result.

    The options are those of `gossamer.crawl`. By default there is no delay, and pages with
    identical content are kept.
    """
    host, port = web.address
    given: dict[str, Any] = {
        "dir": directory,
        "allow_network": [f"{host}:{port}"],
        "delay": "0s",
        "similarity": "off",
        **options,
    }
    recorder = PageRecorder()
    summary = await crawl(*seeds, module=[recorder, *modules], dns=web.dns, **given)
    return Crawled(
        summary=summary,
        urls=read_urls(directory),
        pages=recorder.pages,
        reported_depths=recorder.depths,
    )


def read_urls(directory: Path) -> dict[Url, UrlRecord]:
    """Return every URL of the crawl in that directory, in the order of discovery."""
    path = CrawlDirectory(directory).database
    with reading(path) as db:
        return _at_once(_urls(CrawlReader(ReadableSqliteRows(db, path))))


async def _urls(reader: CrawlReader) -> dict[Url, UrlRecord]:
    return {entry.record.url: entry.record async for entry in reader.urls()}


def stored_results(connection: sqlite3.Connection) -> list[Result]:
    """Return the log of results in the file of a crawl."""
    reader = CrawlReader(ReadableSqliteRows(connection, Path()))
    return _at_once(reader.results(0, 10**6))


def _at_once(reading: Coroutine[Any, Any, T]) -> T:
    """Return what comes of reading a file, which waits for nothing; the loop may be running."""
    try:
        reading.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("it waits")
