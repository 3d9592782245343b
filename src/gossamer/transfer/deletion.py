"""Deleting a crawl from a shared store."""

from gossamer.cluster import frontier_role
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.redis import opening
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.alive import is_at_work
from gossamer.stores.redis.crawl_client import ask_server, crawl_names
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.open import delete_crawl

ROLES = (frontier_role.ROLE, opening.ROLE)


async def check_deletable(address: RedisAddress, name: str) -> None:
    """Refuse to delete a crawl that is not there, or on which a process works."""

    async def check(nodes: Nodes) -> None:
        names = await crawl_names(nodes)
        if name not in names:
            there = f"it has {', '.join(names)}" if names else "it has none"
            raise UsageError(f"there is no crawl {name} in {address}: {there}")
        if await is_at_work(nodes, name, ROLES):
            raise CrawlError(
                f"the crawl {name} in {address} is worked on: stop its 'gossamer crawl', frontiers "
                "and workers first, and let them end"
            )

    await ask_server(address, check)


async def delete_shared_crawl(address: RedisAddress, name: str) -> None:
    """Delete a crawl on which nobody works, in small steps that hold up nobody else."""
    await check_deletable(address, name)
    await delete_crawl(address, name)
