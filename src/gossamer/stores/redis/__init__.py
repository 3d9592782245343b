"""A crawl in Redis or Valkey, for any number of processes on any number of machines.

Every step of the contract is one function on the server, so that it is atomic and nobody comes in
between. The functions are Lua (`lua/`, with the `constants` of the rest), and `library` loads them.
Python sends and reads: `script_client` carries the calls of one process together, and again if they
got lost; `store` is the contract; `messages` and `rules` are what goes over the wire;
`known_link_cache` spares the server the links that everybody knows; `reader` reads a crawl without
working on it (`unpack`). Every key has its name in `keys`. `open` opens a crawl, after `probe` has
asked the server what it is (`address`, `checks`, `no_answer`).

`nodes` finds out which server of a cluster has a crawl, `crawl_client` is the way there for single
commands. `export` copies a crawl into the tables of a crawl in a file (`importer`), as it is at one
moment (`export_state`); `check_indexes` compares the copy with the queues and counters. `restore`
brings such `tables` back (`restoration`); `records` are packed and unpacked for both.
"""

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.open import Opening, open_redis
from gossamer.stores.redis.reader import RedisReader
from gossamer.stores.redis.store import RedisStore

__all__ = [
    "Opening",
    "RedisAddress",
    "RedisReader",
    "RedisStore",
    "open_redis",
]
