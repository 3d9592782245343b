"""The memory that a crawl takes in its server: measured, or estimated from a sample of its keys.

Keys of which a crawl has one each are all measured; they hold most of it. Of the others, of which
there are several for each host, a bounded sample is measured, so that nobody has to wait.
"""

import logging
from collections.abc import Collection

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.row_keys import NAMES, RowKeys

log = logging.getLogger("gossamer.store")

MOST_KEYS = 10_000
AT_ONCE = 500


def memory_of(address: RedisAddress, crawl: str) -> int:
    """Return about how many bytes a crawl takes; in a small store it is exact."""
    keys = RowKeys(crawl)
    link = BlockingLink(address, keys.prefix.decode(), log.warning)
    link.open()
    try:
        return _memory_of(link, keys)
    finally:
        link.close()


def _memory_of(link: BlockingLink, keys: RowKeys) -> int:
    single = {keys.prefix + name.encode() for name in NAMES.values()}
    measured = _measure(link, single)
    (size,) = link.ask(("DBSIZE",))
    seen, sampled, cursor = 0, 0, b""
    while cursor != b"0" and seen < MOST_KEYS:
        ((cursor, found),) = link.ask(("SCAN", cursor or 0, "COUNT", AT_ONCE))
        seen += len(found)
        mine = [one for one in found if one.startswith(keys.everything) and one not in single]
        sampled += _measure(link, mine)
    scale = 1.0 if cursor == b"0" else size / max(1, seen)
    return measured + round(sampled * scale)


def _measure(link: BlockingLink, names: Collection[bytes]) -> int:
    if not names:
        return 0
    return sum(size or 0 for size in link.ask(*(("MEMORY", "USAGE", name) for name in names)))
