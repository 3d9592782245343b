"""Whether processes work on a crawl."""

from typing import Any

from gossamer.errors import CrawlError
from gossamer.stores.redis.counters import read_counters
from gossamer.stores.redis.crawl_client import CrawlClient, stored_crawl
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes, connect

AT_WORK, IN_ORDER = 2, 1
"""How the last process was seen or has ended; in Lua `const.AT_WORK` and `const.IN_ORDER`."""


async def is_at_work(nodes: Nodes, crawl: str, roles: tuple[str, ...]) -> bool:
    """Tell whether somebody has one of the roles, or a worker was seen within a lease's time."""
    leaders = [f"{key(crawl, 'leader')}{role}" for role in roles]
    async with connect(await nodes.find(leaders[0])) as client:
        if await client.exists(*leaders):
            return True
    try:
        async with stored_crawl(nodes, crawl) as (rules, client):
            return await _is_worked_on(client, rules.scheduler.lease_s)
    except CrawlError:  # nobody can work on what is no crawl
        return False


async def _is_worked_on(crawl: CrawlClient, lease_s: float) -> bool:
    counts = await read_counters(crawl)
    seen: Any = await crawl.client.zrevrange(crawl.key("seen"), 0, 0, withscores=True)
    if counts["closed"] != AT_WORK or not seen:
        return False
    seconds, micros = await crawl.client.time()
    return bool(seen[0][1] + lease_s > seconds + micros / 1e6)
