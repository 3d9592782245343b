"""Gossamer: a polite, extensible web crawler.

`pages` yields the pages of a crawl as they come, `crawl` runs one to its end.
"""

from typing import TYPE_CHECKING

from gossamer.errors import CrawlError, GossamerError, UsageError
from gossamer.model import Cause, Event, EventKind, Outcome, Page, Response, Snapshot, Url
from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.coordinator import Summary, crawl, pages

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


def __getattr__(name: str) -> object:
    """Load the engine when it is asked for: whoever needs one room does not wait for the house."""
    if name in {"Summary", "crawl", "pages"}:
        import gossamer.coordinator  # noqa: PLC0415

        return getattr(gossamer.coordinator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
