"""How a crawl shows itself: events in, words for people out."""

from gossamer.observe.classic import progress_line

__all__ = ["progress_line"]
