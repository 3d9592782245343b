"""Whether processes work on a crawl."""

from typing import Any

from redis.asyncio import Redis

from gossamer.errors import CrawlError
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.export_state import AT_WORK
from gossamer.stores.redis.keys import key


async def is_at_work(client: Redis, crawl: str, roles: tuple[str, ...]) -> bool:
    """Tell whether somebody has one of the roles, or a worker was seen within a lease's time."""
    if await client.exists(*[f"{key(crawl, 'leader')}{role}" for role in roles]):
        return True
    ended: Any = await client.hget(key(crawl, "counts"), "closed")
    laid_down = await client.get(key(crawl, "rules"))
    seen: Any = await client.zrevrange(key(crawl, "seen"), 0, 0, withscores=True)
    if int(ended or 0) != AT_WORK or not seen or not isinstance(laid_down, bytes):
        return False
    try:
        lease_s = stored.read_all(laid_down, crawl).rules.desk.lease_s
    except CrawlError:  # nobody can work on what is no crawl
        return False
    seconds, micros = await client.time()
    return bool(seen[0][1] + lease_s > seconds + micros / 1e6)
