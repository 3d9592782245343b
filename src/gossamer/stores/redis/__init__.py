"""A crawl in Redis or Valkey, for any number of processes on any number of machines.

Every step of the contract is one Lua script, so that it happens whole and nobody comes in between
(`lua/`; `scripts` puts them together). Python sends and reads: `courier` carries the calls of one
process together, again if they got lost; `store` is the contract; `messages` and `rules` are what
goes over the wire; `acquaintances` spares the server the links that everybody knows; `reader`
looks on (`unpack`). Every key has its name in `keys`. `open` begins it all, after `probe`
has asked the server what it is (`address`, `checks`, `no_answer`).

A crawl may be `divided` into `partitions`: each `part` is kept by the same scripts under keys of
its own, the `centre` has what there is once, the `post` goes between them, and `ending` tells when
all is done (`divided_reader` looks on). `nodes` finds out which server of a cluster has what.

Who looks at a crawl from outside goes to its `branches`, of which a whole one has one. `export`
copies it into the tables of a crawl in a file (`carrier`), each part as it is at one moment
(`export_part`, `export_state`), with numbers as a file has them (`renumber`). `agreement` and
`concord` compare the copy with what else there is. `restore` brings such `tables` back, part by
part (`restore_part`); `records` are packed and unpacked for both.
"""

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.divided import DividedStore
from gossamer.stores.redis.open import Opening, SharedStore, open_redis, open_shared
from gossamer.stores.redis.reader import RedisReader
from gossamer.stores.redis.store import RedisStore

__all__ = [
    "DividedStore",
    "Opening",
    "RedisAddress",
    "RedisReader",
    "RedisStore",
    "SharedStore",
    "open_redis",
    "open_shared",
]
