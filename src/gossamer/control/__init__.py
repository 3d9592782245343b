"""Builds a crawl out of its parts, runs it, and notices its end."""

from gossamer.control.api import crawl, pages
from gossamer.control.classic import ClassicCrawl, ClassicPlan, ClassicSettings
from gossamer.control.crawl import Crawl
from gossamer.control.observer import HostView, Level, Observer, Summary
from gossamer.control.plan import Plan

__all__ = [
    "ClassicCrawl",
    "ClassicPlan",
    "ClassicSettings",
    "Crawl",
    "HostView",
    "Level",
    "Observer",
    "Plan",
    "Summary",
    "crawl",
    "pages",
]
