"""A crawl in Redis or Valkey, for any number of processes on any number of machines.

Every step of the contract is one function on the server, so that it is atomic and nobody comes in
between. The functions are Lua (`lua/`, with `constants` from elsewhere); `library` loads them.
Python sends and reads: `script_client` carries the calls of one process together, and again if they
got lost (`passing`); `store` is the contract; `messages` and `rules` are what goes over the wire;
`known_link_cache` spares the server the links about which nothing is new. Every key has its name in
`keys`. `open` opens a crawl, after `probe` has asked the server what it is (`address`, `checks`,
`no_answer`), and `opening` sees to it that one process at a time coordinates it (`notes`, `alive`).

`reader` reads a crawl without working on it, from its counters (`read_counts`, `read_hosts`) and
from its packed `records` (`read_records`, `unpack`). `nodes` finds the server of a cluster that
holds a crawl, or that Sentinels have elected, and `crawl_client` is the way there for single
commands. `memory` measures what a crawl takes.
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
