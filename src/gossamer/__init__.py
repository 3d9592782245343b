"""Gossamer: a polite, extensible web crawler.

`pages` yields the pages of a crawl as they come, `crawl` runs one to its end; `pages_sync` and
`crawl_sync` do so in a program without an event loop.
"""

import importlib
from typing import TYPE_CHECKING

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.config import CrawlKeywords
    from gossamer.coordinator import Summary, crawl, crawl_sync, pages, pages_sync
    from gossamer.errors import CrawlError, GossamerError, NoSeedFetchedError, UsageError
    from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response, Snapshot, Url
    from gossamer.modules import FinishedUrl, FollowedLink

__all__ = [
    "Cause",
    "CrawlError",
    "CrawlKeywords",
    "Event",
    "EventKind",
    "FinishedUrl",
    "FollowedLink",
    "GossamerError",
    "NoSeedFetchedError",
    "Outcome",
    "Page",
    "Response",
    "Snapshot",
    "Summary",
    "Url",
    "UsageError",
    "__version__",
    "crawl",
    "crawl_sync",
    "pages",
    "pages_sync",
]


_ROOMS = {
    "config": ("CrawlKeywords",),
    "coordinator": ("Summary", "crawl", "crawl_sync", "pages", "pages_sync"),
    "errors": ("CrawlError", "GossamerError", "NoSeedFetchedError", "UsageError"),
    "model": ("Cause", "Event", "EventKind", "Outcome", "Page", "Response", "Snapshot", "Url"),
    "modules": ("FinishedUrl", "FollowedLink"),
}


def __getattr__(name: str) -> object:
    """Import a public name on its first use, so that nobody waits for what they do not need."""
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(importlib.import_module(f"gossamer.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the names that are imported on use as well: for `help`, and for completion."""
    return sorted({*globals(), *__all__})
