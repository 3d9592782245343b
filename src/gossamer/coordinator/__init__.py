"""Builds a crawl out of its parts, runs it, and notices its end."""

from gossamer.coordinator.api import crawl, pages
from gossamer.coordinator.classic import ClassicCrawl, ClassicPlan, ClassicSettings
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.observer import HostView, Level, Observer, Summary

__all__ = [
    "ClassicCrawl",
    "ClassicPlan",
    "ClassicSettings",
    "Crawl",
    "HostView",
    "Level",
    "Observer",
    "Summary",
    "crawl",
    "pages",
]
