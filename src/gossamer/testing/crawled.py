"""A crawl of a simulated web, and all that came of it: what a test asks about a crawl."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from gossamer.coordinator import Summary, crawl
from gossamer.coordinator.directory import CrawlDirectory
from gossamer.model import Outcome, Page, Url
from gossamer.modules import ModuleLike
from gossamer.stores.contract import UrlRecord
from gossamer.stores.embedded.sqlite import SqliteBackend


class Served(Protocol):
    """A web that can be crawled: a `Web`, or one that another process serves."""

    @property
    def address(self) -> tuple[str, int]:
        """The address and port it listens on."""

    @property
    def dns(self) -> Mapping[str, str]:
        """The table of names that leads there."""


class Crawled(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a crawl."""

    summary: Summary
    urls: dict[Url, UrlRecord]
    """Every URL that the crawl knows, as its store has it."""
    pages: list[Page]
    """The pages as a module sees them, in the order of delivery."""
    reported_depths: dict[int, int]
    """The depth of each page, by its number, as a module knows it in the end."""

    def outcome(self, url: str) -> Outcome | None:
        """Return how a URL ended."""
        return self.urls[Url(url)].outcome

    def outcomes(self) -> dict[str, Outcome | None]:
        """Return how every URL ended; None where it did not."""
        return {url: record.outcome for url, record in self.urls.items()}

    def depths(self) -> dict[str, int]:
        """Return the depth of every page that was fetched."""
        fetched = Outcome.FETCHED
        return {url: one.depth for url, one in self.urls.items() if one.outcome is fetched}


class Witness:
    """A module that remembers what it was told."""

    on_loop = True

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.depths: dict[int, int] = {}

    def page(self, page: Page) -> None:
        """Remember a page."""
        self.pages.append(page)
        self.depths[page.id] = page.depth

    def depth_changed(self, page_id: int, depth: int) -> None:
        """Remember the new depth."""
        self.depths[page_id] = depth


async def crawl_into(
    directory: Path,
    web: Served,
    *seeds: str,
    modules: Sequence[ModuleLike | str] = (),
    **options: object,
) -> Crawled:
    """Crawl a web from the seeds, with the state in that directory, and tell all about it.

    The options are those of `gossamer.crawl`. Unless they say otherwise, there is no delay, and
    pages with the same content are kept.
    """
    host, port = web.address
    given: dict[str, Any] = {
        "dir": directory,
        "allow_network": [f"{host}:{port}"],
        "delay": "0s",
        "similarity": "off",
        **options,
    }
    witness = Witness()
    summary = await crawl(*seeds, module=[witness, *modules], dns=web.dns, **given)
    return Crawled(
        summary=summary,
        urls=read_urls(directory),
        pages=witness.pages,
        reported_depths=witness.depths,
    )


def read_urls(directory: Path) -> dict[Url, UrlRecord]:
    """Return every URL of the crawl in that directory, in the order of discovery."""
    backend = SqliteBackend(CrawlDirectory(directory).database)
    try:
        return {record.url: record for record in backend.records()}
    finally:
        backend.close()
