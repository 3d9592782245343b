"""Gossamer: a polite, extensible web crawler.

`pages` yields the pages of a crawl as they come, `crawl` runs one to its end; `pages_sync` and
`crawl_sync` do so in a program without an event loop.
"""

import importlib
from typing import TYPE_CHECKING

from gossamer.errors import CrawlError, GossamerError, NoSeedFetchedError, UsageError
from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response, Snapshot, Url
from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.config import CrawlKeywords
    from gossamer.coordinator import Summary, crawl, crawl_sync, pages, pages_sync
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


def __getattr__(name: str) -> object:
    """Load the engine when it is asked for: whoever needs one room does not wait for the house."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    rooms = {"CrawlKeywords": "config", "FinishedUrl": "modules", "FollowedLink": "modules"}
    room = rooms.get(name, "coordinator")
    return getattr(importlib.import_module(f"gossamer.{room}"), name)
