"""The rows of a crawl in a SQLite file of the crawl's directory: the default."""

from gossamer.stores.sqlite.rows import SqliteRows

__all__ = ["SqliteRows"]
