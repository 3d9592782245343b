"""Builds a crawl out of its parts, runs it, and notices its end."""
