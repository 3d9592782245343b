"""A client of one crawl in Redis, for what is not one of the contract's steps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from redis.asyncio import Redis

from gossamer.errors import CrawlError
from gossamer.stores.ledger import StoreRules
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.client import connect
from gossamer.stores.redis.keys import key, prefix
from gossamer.stores.redis.nodes import Nodes


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
            raise CrawlError(f"the store has no crawl with the name {crawl}")
        yield rules, client


async def read_rules(crawl: CrawlClient) -> StoreRules | None:
    """Return the rules of a crawl; None if there is none."""
    found = await crawl.client.get(crawl.key("rules"))
    return stored.read(found, crawl.crawl) if isinstance(found, bytes) else None
