"""A store in one file of the crawl's directory: the default."""

from gossamer.stores.sqlite.shelf import SqliteShelf

__all__ = ["SqliteShelf"]
