"""Outputs: what comes out of a crawl, written from the log of its results."""
