"""The names of the crawls that a server holds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gossamer.errors import UsageError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import CONNECT_S, Nodes, connect, locate
from gossamer.stores.redis.row_keys import REGISTRY

T = TypeVar("T")


async def ask_server(address: RedisAddress, question: Callable[[Nodes], Awaitable[T]]) -> T:
    """Return the answer of a store; a CrawlError says why there is none."""
    async with explained(address):
        async with asyncio.timeout(CONNECT_S), connect(await locate(address)) as client:
            await client.ping()  # a silent one is not waited for
        return await question(Nodes(address))


async def crawl_names(nodes: Nodes) -> list[str]:
    """Return the names of all crawls in the store."""
    async with connect(await nodes.find(REGISTRY)) as client:
        found = await client.smembers(REGISTRY)
    return sorted(one.decode() if isinstance(one, bytes) else one for one in found)


async def find_crawl_name(nodes: Nodes, crawl: str | None) -> str:
    """Return the name that was given, or that of the only crawl in the store."""
    if crawl is not None:
        return crawl
    names = await crawl_names(nodes)
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError("the store has no crawl: start one with 'gossamer crawl'")
    raise UsageError(f"the store has several crawls: name one of {', '.join(names)} with --name")
