"""The counters of a crawl: one packed string, which every step reads and most of them write.

They are not the fields of a hash: a small hash is a list to the server, which it goes through for
each field that is asked for.
"""

import struct
from collections.abc import Mapping

from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.keys import COUNTERS

FORMAT = ">" + "d" * len(COUNTERS)
"""How they are packed, also in Lua; a double holds every number that they may have."""
_PACKED = struct.Struct(FORMAT)


def pack_counters(counts: Mapping[str, float]) -> bytes:
    """Return counters as they are stored; one that is not given is 0."""
    return _PACKED.pack(*(counts.get(name, 0) for name in COUNTERS))


def unpack_counters(packed: bytes | str | None) -> dict[str, float]:
    """Return stored counters by name, all 0 if there are none; a ValueError for anything else."""
    if packed is None:
        return dict.fromkeys(COUNTERS, 0.0)
    if not isinstance(packed, bytes) or len(packed) != _PACKED.size:
        raise ValueError(f"{len(packed)} bytes instead of {_PACKED.size}")
    return dict(zip(COUNTERS, _PACKED.unpack(packed), strict=True))


async def read_counters(crawl: CrawlClient) -> dict[str, float]:
    """Return the counters of a crawl."""
    return unpack_counters(await crawl.client.get(crawl.key("counts")))
