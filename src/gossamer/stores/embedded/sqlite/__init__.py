"""The backend in a SQLite file of the crawl's directory: the default."""

from gossamer.stores.embedded.sqlite.backend import SqliteBackend

__all__ = ["SqliteBackend"]
