"""Builds a crawl out of its parts, runs it, and notices its end."""

from gossamer.control.classic import MAX_REDIRECTS, ClassicCrawl, ClassicPlan
from gossamer.control.classic_setup import ClassicSettings, open_classic_crawl

__all__ = [
    "MAX_REDIRECTS",
    "ClassicCrawl",
    "ClassicPlan",
    "ClassicSettings",
    "open_classic_crawl",
]
