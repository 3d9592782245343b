"""Everything of a crawl that lasts, behind one contract.

`contract` says what a store promises, `rules` what it is told about its crawl. `embedded/` is the
store inside the process that runs the crawl, in memory or in a file; `redis/` is the one that any
number of processes share.
"""

from gossamer.stores.contract import Link, Store, Task, UrlState
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.stores.rules import StoreRules

__all__ = ["EmbeddedStore", "Link", "Store", "StoreRules", "Task", "UrlState"]
