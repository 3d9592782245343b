"""Everything of a crawl that lasts, behind one contract.

`contract` says what a store promises. `embedded` is the store of a crawl that runs in one process:
its steps are made of moves in the `ledger`, which keeps the desk of the frontier and a shelf in
step.
The desk decides; a `shelf` keeps the rows, in `memory/` or in a file (`sqlite/`). Beside them,
each with one subject: `links` (adding, and exact depths), `claims` (the numbers of pages), `twins`
(which page another repeats) over `resemblance` (which may be alike), `host_book` (the pace of
hosts), `credit` (the importance of domains), `whole` (all or nothing).
"""

from gossamer.stores.contract import Link, Place, Store, Task
from gossamer.stores.embedded import EmbeddedStore
from gossamer.stores.ledger import StoreRules
from gossamer.stores.shelf import Shelf

__all__ = ["EmbeddedStore", "Link", "Place", "Shelf", "Store", "StoreRules", "Task"]
