"""Builds a crawl out of its parts, runs it, and notices its end."""

from gossamer.coordinator.api import crawl, crawl_sync, pages, pages_sync
from gossamer.coordinator.classic import ClassicCrawl, ClassicPlan, ClassicSettings
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.observer import (
    HostView,
    Level,
    Observer,
    SeedReport,
    Summary,
)

__all__ = [
    "ClassicCrawl",
    "ClassicPlan",
    "ClassicSettings",
    "Crawl",
    "HostView",
    "Level",
    "Observer",
    "SeedReport",
    "Summary",
    "crawl",
    "crawl_sync",
    "pages",
    "pages_sync",
]
