"""Where the parts of a crawl lie: what looks at a crawl, or copies it, asks each of them.

A crawl that is not divided is one part, which is the centre as well.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
from redis.asyncio import Redis

from gossamer.errors import CrawlError
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.client import connect
from gossamer.stores.redis.keys import CENTRE, key, prefix
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.rules import StoredRules


class Branch(msgspec.Struct, frozen=True):
    """A partition or the centre, and the way to the server that has it."""

    client: Redis
    crawl: str
    place: int | str
    """The number of the partition, or what stands for the centre."""
    count: int
    """How many partitions there are."""

    def key(self, name: str) -> str:
        """Return the whole name of a key."""
        return key(self.crawl, name, self.place)

    @property
    def prefix(self) -> str:
        """How every key begins."""
        return prefix(self.crawl, self.place)

    @property
    def number(self) -> int:
        """Its number in messages: the centre has the one after the last partition."""
        return self.place if isinstance(self.place, int) else self.count

    def wide(self, number: int) -> int:
        """Return what a number of this partition, of a URL or a host, is in the whole crawl."""
        return number * self.count + self.number

    def narrow(self, number: int) -> int:
        """Return what a number of the whole crawl is in this partition."""
        return number // self.count


class Branches(msgspec.Struct, frozen=True):
    """All of a crawl."""

    crawl: str
    parts: list[Branch]
    centre: Branch

    @property
    def is_divided(self) -> bool:
        """Whether there are several partitions."""
        return len(self.parts) > 1

    @property
    def all(self) -> list[Branch]:
        """The partitions and the centre, in the order of their numbers."""
        return [*self.parts, self.centre] if self.is_divided else self.parts


@asynccontextmanager
async def to_branches(nodes: Nodes, crawl: str, count: int) -> AsyncIterator[Branches]:
    """Connect to the parts of a crawl that has so many, or is to have."""
    async with AsyncExitStack() as stack:
        places: list[int | str] = [*range(count)]
        found = []
        for place in places if count == 1 else [*places, CENTRE]:
            client = connect(await nodes.find(prefix(crawl, place)))
            stack.push_async_callback(client.aclose)
            found.append(Branch(client, crawl, place, count))
        yield Branches(crawl, found[:count], found[-1])


@asynccontextmanager
async def open_branches(nodes: Nodes, crawl: str) -> AsyncIterator[tuple[StoredRules, Branches]]:
    """Connect to the parts of a crawl, and give its rules; a CrawlError if there is none."""
    rules = await read_rules(nodes, crawl)
    if rules is None:
        raise CrawlError(f"the store has no crawl with the name {crawl}")
    async with to_branches(nodes, crawl, rules.partitions) as branches:
        yield rules, branches


async def read_rules(nodes: Nodes, crawl: str) -> StoredRules | None:
    """Return what was laid down for a crawl; None if there is none."""
    name = key(crawl, "rules")
    async with connect(await nodes.find(name)) as client:
        laid_down = await client.get(name)
    return stored.read(laid_down, crawl) if isinstance(laid_down, bytes) else None
