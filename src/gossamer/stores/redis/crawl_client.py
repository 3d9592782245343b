"""A client of one crawl in Redis, for what is not one of the contract's steps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from redis.asyncio import Redis

from gossamer.errors import CrawlError, UsageError
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.keys import REGISTRY, key, prefix
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import CONNECT_S, Nodes, connect, locate
from gossamer.stores.rules import StoreRules

T = TypeVar("T")


class CrawlClient(msgspec.Struct, frozen=True):
    """A connection to the server that holds a crawl, and the names of the crawl's keys."""

    client: Redis
    crawl: str

    def key(self, name: str) -> str:
        """Return the whole name of a key."""
        return key(self.crawl, name)

    @property
    def prefix(self) -> str:
        """How every key begins."""
        return prefix(self.crawl)


@asynccontextmanager
async def crawl_client(nodes: Nodes, crawl: str) -> AsyncIterator[CrawlClient]:
    """Connect to the server that holds a crawl, or is to hold it."""
    async with connect(await nodes.find(prefix(crawl))) as client:
        yield CrawlClient(client, crawl)


@asynccontextmanager
async def stored_crawl(nodes: Nodes, crawl: str) -> AsyncIterator[tuple[StoreRules, CrawlClient]]:
    """Connect to a crawl that is there, and give its rules; a CrawlError if there is none."""
    async with crawl_client(nodes, crawl) as client:
        rules = await read_rules(client)
        if rules is None:
            raise CrawlError(
                f"the store has no crawl with the name {crawl}: 'gossamer crawls' lists those there"
            )
        yield rules, client


async def read_rules(crawl: CrawlClient) -> StoreRules | None:
    """Return the rules of a crawl; None if there is none."""
    found = await crawl.client.get(crawl.key("rules"))
    return stored.read(found, crawl.crawl) if isinstance(found, bytes) else None


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
