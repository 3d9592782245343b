"""Gossamer: a polite, extensible web crawler."""

from importlib.metadata import version

from gossamer.errors import CrawlError, GossamerError, UsageError
from gossamer.model import Cause, Event, EventKind, Outcome, Response, Url

__version__ = version("gossamer")

__all__ = [
    "Cause",
    "CrawlError",
    "Event",
    "EventKind",
    "GossamerError",
    "Outcome",
    "Response",
    "Url",
    "UsageError",
    "__version__",
]
