"""Gossamer: a polite, extensible web crawler.

`pages` yields the pages of a crawl as they come, `crawl` runs one to its end.
"""

from gossamer.control import Summary, crawl, pages
from gossamer.errors import CrawlError, GossamerError, UsageError
from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response, Snapshot, Url
from gossamer.version import __version__

__all__ = [
    "Cause",
    "CrawlError",
    "Event",
    "EventKind",
    "GossamerError",
    "Outcome",
    "Page",
    "Response",
    "Snapshot",
    "Summary",
    "Url",
    "UsageError",
    "__version__",
    "crawl",
    "pages",
]
