"""A stored crawl, opened to be read: it may be running, have ended, or have been killed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, cast

import msgspec

from gossamer.plan.stored_options import StoredOptions, read_options
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.stores.reading import CrawlCounts, CrawlReader, ReadRequest
from gossamer.stores.registry import open_for_reading

CrawlState = Literal["running", "finished", "interrupted", "crashed"]
BudgetName = Literal["max-pages", "max-bytes"]


class StoredCrawl(msgspec.Struct, frozen=True):
    """An open crawl: its reader, and the options that it was last run with."""

    reader: CrawlReader
    options: StoredOptions | None
    """None if they were not kept with the crawl."""

    def exhausted_by(self, counts: CrawlCounts) -> BudgetName | None:
        """Return which budget is used up."""
        budget = self.options and self.options.budget(
            counts.visits, counts.received, counts.short_at
        )
        return cast("BudgetName | None", budget.exhausted_by()) if budget else None

    def ended_by(self, counts: CrawlCounts) -> str | None:
        """Return what ended the crawl; None while it runs, or after a crash."""
        if counts.running:
            return None
        if counts.relaxing:
            return "interrupted" if counts.closed else None
        if not counts.unfinished and not counts.reading:
            return "complete"
        return (self.exhausted_by(counts) or "interrupted") if counts.closed else None

    def state(self, counts: CrawlCounts) -> CrawlState:
        """Return how the crawl is."""
        if counts.running:
            return "running"
        if not counts.closed:
            return "crashed"
        return "interrupted" if self.ended_by(counts) == "interrupted" else "finished"


@asynccontextmanager
async def open_crawl(request: ReadRequest) -> AsyncIterator[StoredCrawl]:
    """Open a crawl to read it, in whichever store it is."""
    async with open_for_reading(request) as reader:
        note = await reader.note(OPTIONS_NOTE)
        yield StoredCrawl(reader, read_options(note, reader.where))
