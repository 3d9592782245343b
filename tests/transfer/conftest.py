"""One small web, crawled into a file and into a Redis, by the same tasks of one process."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from gossamer.config import load
from gossamer.coordinator.engine import Engine
from gossamer.coordinator.in_process import InProcessWorkers
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.scorers import Fifo
from gossamer.modules import ModuleRunner
from gossamer.plan import Plan
from gossamer.plan.stored_options import pack_options
from gossamer.stores import EmbeddedStore, Store
from gossamer.stores.embedded.sqlite import SqliteRows
from gossamer.stores.opening import LocalStore
from gossamer.stores.redis import RedisStore, open_redis
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import connect
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import Opening
from gossamer.testing import Web
from gossamer.testing.graph import GraphWeb
from gossamer.worker.links import LinkFilter
from gossamer.worker.open_context import ProcessContext, open_worker_context

WEB = GraphWeb(hosts=8, pages=160, seed=3, reset=1, silent=0, slow_hosts=0)


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    """A web of eight hosts, with redirects, missing and failing pages."""
    with Web() as running:
        WEB.describe(running)
        yield running


class DiedError(Exception):
    """A process did not end in order."""


class CrawlLab:
    """Crawls the web into stores."""

    seed = str(WEB.seed_url)
    died = DiedError

    def __init__(self, web: Web, redis_url: str, folder: Path) -> None:
        self.web = web
        self.url = redis_url
        self.folder = folder

    def plan(self, **options: object) -> Plan:
        """Return a plan for the whole web, without delay."""
        host, port = self.web.address
        given = {
            "seeds": (self.seed,),
            "scope": "any",
            "allow-network": [f"{host}:{port}"],
            "delay": "0s",
            "similarity": "off",
            **options,
        }
        return Plan(load(given, {}, None).options)

    async def crawl(self, crawl: str, pages: int | None = None, **options: object) -> str:
        """Crawl into the Redis, or go on there, until it has so many pages."""
        plan = self.plan(**options)
        async with self.redis_store(crawl, plan) as store:
            return await self.work(store, plan, pages)

    async def crawl_file(self, path: Path, pages: int | None = None, **options: object) -> str:
        """Crawl into a file, or go on there, until it has so many pages."""
        plan = self.plan(**options)
        path.parent.mkdir(exist_ok=True)
        store = EmbeddedStore(SqliteRows(path), plan.store_rules(strict=False), time.time())
        try:
            await store.put_note("options", pack_options(plan.options))
            return await self.work(store, plan, pages)
        finally:
            await store.close()

    @asynccontextmanager
    async def redis_store(self, crawl: str, plan: Plan) -> AsyncIterator[RedisStore]:
        """Open the store of a crawl in the Redis, and close it in order."""
        how = Opening(take_over=True, is_checked=True)
        store = await open_redis(self.url, crawl, plan.store_rules(strict=False), how)
        vars(store)["commit_wanted"] = asyncio.Event().wait  # each of its steps is durable at once
        try:
            async with CrawlNotes(parse_address(self.url), crawl) as notes:
                await notes.put("options", pack_options(plan.options))
            yield store
        except DiedError:
            await store.let_go()  # without a word
        else:
            await store.close()

    async def work(self, store: Store, plan: Plan, pages: int | None = None) -> str:
        """Run frontier and workers over a store, until it has so many pages."""
        link_filter = LinkFilter(plan.scope, plan.domain_of)
        await store.add_seeds([link_filter.file(seed) for seed in plan.seeds], time.time())
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            own = ProcessContext(
                modules=ModuleRunner([]),
                clock=time.time,
                lease_s=plan.options.lease_s,
                dns=self.web.dns,
            )
            context = await open_worker_context(plan, store, own, stack)
            draw = Draw(QueueTable(plan.options.queues), 0)
            engine = Engine(cast("LocalStore", store), time.time, Fifo(), draw, _ignore)
            workers = InProcessWorkers(context, [4, 4], engine.settled)
            running = asyncio.create_task(engine.run(workers))
            while not running.done():
                if pages is not None and (await store.snapshot(time.time())).pages >= pages:
                    engine.stop()
                    break
                engine.settled()  # as processes do that share a store, look again and again
                workers.wake()
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(running), 0.005)
            return await running

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Redis]:
        """Speak to the Redis."""
        client = connect(parse_address(self.url))
        try:
            yield client
        finally:
            await client.aclose()

    @staticmethod
    def key(crawl: str, name: str) -> str:
        """Return the name of a key."""
        return key(crawl, name)


async def _ignore() -> None:
    pass


@pytest.fixture
def lab(web: Web, redis_url: str, tmp_path: Path) -> CrawlLab:
    """A laboratory with the Redis of this process."""
    return CrawlLab(web, redis_url, tmp_path)


@pytest.fixture
def crawl() -> str:
    """The name of a crawl that nobody has."""
    return secrets.token_hex(4)
