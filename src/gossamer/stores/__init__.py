"""Everything of a crawl that lasts, behind one contract.

`contract` says what a store promises, `rules` what it is told about its crawl. `embedded/` is the
store inside the process that runs the crawl, in memory or in a file; `redis/` is the one that any
number of processes share, and `own_redis/` starts one for a crawl that has none.
"""

from gossamer.stores.contract import Link, Store, Task
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.stores.rules import StoreRules
from gossamer.stores.url_record import UrlState

__all__ = ["EmbeddedStore", "Link", "Store", "StoreRules", "Task", "UrlState"]
