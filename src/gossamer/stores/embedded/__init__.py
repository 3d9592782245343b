"""The embedded store: kept by the process that runs the crawl, in memory or in a SQLite file.

`EmbeddedStore` implements the store's contract: the scheduler decides, `FrontierState` keeps the
scheduler, the backend and the counters in step, and a `Backend` (`memory`, `sqlite`) keeps the
rows.
"""

from gossamer.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
