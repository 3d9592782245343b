"""The embedded store: kept by the process that runs the crawl, in a SQLite file or in memory.

`EmbeddedStore` implements the store's contract: the scheduler decides, `FrontierState` keeps the
scheduler, the rows and the counters consistent, and `sqlite/` stores the rows.
"""

from gossamer.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
