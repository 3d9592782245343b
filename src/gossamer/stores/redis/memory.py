"""The memory that a crawl takes in its server: measured, or estimated from a sample of its keys.

Keys of which a crawl has one each are all measured; they hold most of it. Of the others, of which
there are several for each page and host, a bounded sample is measured, so that nobody has to wait.
"""

from collections.abc import Iterable
from typing import Any

from gossamer.stores.reading import CrawlReader
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.keys import NAMES
from gossamer.stores.redis.reader import RedisReader

MOST_KEYS = 10_000
AT_ONCE = 500


async def memory_of(reader: CrawlReader) -> int:
    """Return about how many bytes a crawl takes; in a small store it is exact."""
    assert isinstance(reader, RedisReader), "only a shared store has its crawls in memory"
    crawl = reader.crawl
    single = {crawl.key(name).encode() for name, key in NAMES.items() if not key.endswith(":")}
    prefix = crawl.prefix.encode()
    measured = await _measure(crawl, single)
    keys = await crawl.client.dbsize()
    seen, sampled, cursor = 0, 0, None
    while cursor != 0 and seen < MOST_KEYS:
        answer: Any = await crawl.client.scan(cursor or 0, count=AT_ONCE)
        cursor, found = answer
        seen += len(found)
        mine = [one for one in found if one.startswith(prefix) and one not in single]
        sampled += await _measure(crawl, mine)
    scale = 1.0 if cursor == 0 else keys / max(1, seen)
    return measured + round(sampled * scale)


async def _measure(crawl: CrawlClient, keys: Iterable[bytes]) -> int:
    async with crawl.client.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.memory_usage(key)
        return sum(size or 0 for size in await pipe.execute())
