"""A crawl in a real Redis, opened by as many processes as a test likes."""

import asyncio
import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

from gossamer.config import StoreAddress
from gossamer.frontier import SchedulerRules
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores import StoreRules
from gossamer.stores.claim import KeptPage
from gossamer.stores.contract import Link, Settled, Settlement, Task
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.reading import ReadRequest
from gossamer.stores.redis import Opening, RedisReader, RedisStore, open_redis
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.keys import key, prefix
from gossamer.stores.redis.nodes import connect, connection_to
from gossamer.stores.redis.open import delete_crawl
from gossamer.stores.redis.reader import open_redis_reader
from gossamer.stores.redis.script_client import ScriptClient

START = 1_000_000.0
QUEUES = tuple(range(10))


class Stage:
    """One crawl; URLs are written `host/path`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.crawl = secrets.token_hex(4)
        self.rules = StoreRules(
            scheduler=SchedulerRules(delay_s=0.0, host_connections=99), similarity=None
        )

    @property
    def address(self) -> RedisAddress:
        return parse_address(self.url)

    async def open(self, how: Opening | None = None, crawl: str | None = None) -> RedisStore:
        """Open it, by the given clock if nothing else is said."""
        how = how or Opening(clock="given", now=START)
        how = msgspec.structs.replace(how, is_checked=True)
        return await open_redis(self.url, crawl or self.crawl, self.rules, how)

    def opened_over(self, connection: AbstractConnection) -> RedisStore:
        """Return the store of a crawl that is open, over another connection."""
        script_client = ScriptClient(connection, prefix(self.crawl), 5.0, lambda _: None)
        script_client.rules = stored.for_scripts(self.rules, given=True)
        return RedisStore(script_client, self.rules, START)

    def reading(self) -> AbstractAsyncContextManager[RedisReader]:
        """Open it to read it."""
        address = StoreAddress("redis", url=self.url)
        return open_redis_reader(ReadRequest(address=address, name=self.crawl))

    def client(self) -> Redis:
        return connect(self.address)

    def connection(self) -> AbstractConnection:
        return connection_to(self.address)

    def key(self, name: str) -> str:
        return key(self.crawl, name)

    @staticmethod
    def link(name: str) -> Link:
        host, _, path = name.partition("/")
        url = Url(f"http://{host}.test/{path}")
        key = hashlib.blake2b(url.encode(), digest_size=16).digest()
        return Link(url, key, HostKey(f"{host}.test"), f"{host}.test")

    async def take(self, store: RedisStore, now: float = START, worker: int = 0) -> list[Task]:
        """Score, assign and lease what there is."""
        await store.join(worker, now)
        await store.prioritise([(one, 50.0) for one in await store.candidates(1000)])
        await store.route([QUEUES] * 50, now)
        return (await store.lease(worker, 100, now)).tasks

    async def add_seeds(self, store: RedisStore, *names: str, now: float = START) -> int:
        return await store.add_seeds([self.link(name) for name in names], now)

    async def kept(
        self, store: RedisStore, task: Task, links: Sequence[str] = (), now: float = START
    ) -> Settlement:
        """Claim a number for a page; return what is to be settled."""
        digest = hashlib.blake2b(task.url.encode(), digest_size=16).digest()
        claim = await store.claim(task, digest, None, now)
        assert claim.page_id is not None
        page = KeptPage(
            page_id=claim.page_id, size=10, digest=digest, content=b"body", fetched_at=now
        )
        return Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            page=page,
            links=[self.link(name) for name in links],
            size=10,
            feedback=HostFeedback(ended=now),
        )

    async def keep(
        self, store: RedisStore, task: Task, links: Sequence[str] = (), now: float = START
    ) -> Settled:
        return await store.settle(await self.kept(store, task, links, now), now)


@pytest.fixture
def stage(redis_url: str) -> Iterator[Stage]:
    stage = Stage(redis_url)
    yield stage
    asyncio.run(delete_crawl(stage.address, stage.crawl))
