"""Whether processes work on a crawl."""

from typing import Any

from gossamer.errors import CrawlError
from gossamer.stores.redis.branches import Branch, open_branches
from gossamer.stores.redis.client import connect
from gossamer.stores.redis.export_state import AT_WORK
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes


async def is_at_work(nodes: Nodes, crawl: str, roles: tuple[str, ...]) -> bool:
    """Tell whether somebody has one of the roles, or a worker was seen within a lease's time."""
    leaders = [f"{key(crawl, 'leader')}{role}" for role in roles]
    async with connect(await nodes.find(leaders[0])) as client:
        if await client.exists(*leaders):
            return True
    try:
        async with open_branches(nodes, crawl) as (agreed, branches):
            lease_s = agreed.rules.desk.lease_s
            return any([await _is_worked_on(part, lease_s) for part in branches.parts])
    except CrawlError:  # nobody can work on what is no crawl
        return False


async def _is_worked_on(part: Branch, lease_s: float) -> bool:
    ended: Any = await part.client.hget(part.key("counts"), "closed")
    seen: Any = await part.client.zrevrange(part.key("seen"), 0, 0, withscores=True)
    if int(ended or 0) != AT_WORK or not seen:
        return False
    seconds, micros = await part.client.time()
    return bool(seen[0][1] + lease_s > seconds + micros / 1e6)
