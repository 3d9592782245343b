"""Gossamer: a polite, extensible web crawler.

`pages` yields the pages of a crawl as they come, `crawl` runs one to its end; `pages_sync` and
`crawl_sync` do so in a program without an event loop.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gossamer.config import CrawlOptions
    from gossamer.coordinator.api import crawl, crawl_sync, pages, pages_sync
    from gossamer.coordinator.summary import Summary
    from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response, Snapshot, Url
    from gossamer.model.errors import CrawlError, GossamerError, NoSeedFetchedError, UsageError
    from gossamer.modules.contract import FinishedUrl, FollowedLink, ModuleContext

__all__ = [
    "Cause",
    "CrawlError",
    "CrawlOptions",
    "Event",
    "EventKind",
    "FinishedUrl",
    "FollowedLink",
    "GossamerError",
    "ModuleContext",
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
    "config": ("CrawlOptions",),
    "coordinator.api": ("crawl", "crawl_sync", "pages", "pages_sync"),
    "coordinator.summary": ("Summary",),
    "model.errors": ("CrawlError", "GossamerError", "NoSeedFetchedError", "UsageError"),
    "model": ("Cause", "Event", "EventKind", "Outcome", "Page", "Response", "Snapshot", "Url"),
    "modules.contract": ("FinishedUrl", "FollowedLink", "ModuleContext"),
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
