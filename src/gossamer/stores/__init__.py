"""Everything that lasts, behind one contract.

`contract` says what every store promises. `EmbeddedStore` keeps a crawl in the process that runs
it: the frontier's desk decides, and a shelf (`memory/`, `sqlite/`) keeps.
"""

from gossamer.stores.contract import Link, Place, Store, Task
from gossamer.stores.embedded import EmbeddedStore, StoreRules

__all__ = ["EmbeddedStore", "Link", "Place", "Store", "StoreRules", "Task"]
