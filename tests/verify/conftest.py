"""One small web, crawled into a file or into a Redis by the tasks of one process."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import redis
from tests.unit.views.reading import broken, in_redis, verified
from tests.webs.graph import GraphWeb

from gossamer.config import load
from gossamer.coordinator.engine import Engine
from gossamer.coordinator.in_process import InProcessWorkers
from gossamer.coordinator.plan import Plan, frontier_rules
from gossamer.coordinator.processes.worker_main import ProcessContext, open_worker_context
from gossamer.coordinator.resume import pack_options
from gossamer.frontier.router import Draw, QueueTable
from gossamer.frontier.scorers.builtin import Fifo
from gossamer.frontier.service import Frontier
from gossamer.modules.runner import ModuleRunner
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.row_keys import REGISTRY, RowKeys
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Rows
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.testing import Web
from gossamer.views.verify import Verification
from gossamer.worker.link_filter import LinkFilter

WEB = GraphWeb(hosts=8, pages=160, seed=3, reset=1, silent=0, slow_hosts=0)


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    """A web of eight hosts, with redirects, missing and failing pages."""
    with Web() as running:
        WEB.describe(running)
        yield running


class CrawlLab:
    """Crawls the web into rows."""

    seed = str(WEB.seed_url)

    def __init__(self, web: Web, redis_url: str, name: str) -> None:
        self.web = web
        self.url = redis_url
        self.address = parse_address(redis_url)
        self.name = name
        self.keys = RowKeys(name)
        self.client = redis.Redis.from_url(redis_url)

    def plan(self, **options: object) -> Plan:
        """Return a plan for the whole web, without delay."""
        host, port = self.web.address
        given = {
            "seeds": (self.seed,),
            "scope": "any",
            "allow-network": [f"{host}:{port}"],
            "delay": "0s",
            "similarity": "0.9",
            **options,
        }
        return Plan(load(given, {}, None).options)

    def rows(self) -> RedisRows:
        """Return the rows of the crawl in the Redis, with the lead."""
        rows = RedisRows(self.address, self.name, lead_s=60.0)
        rows.take_lead(0.0)
        self.client.sadd(REGISTRY, self.name)
        return rows

    async def crawl(self, pages: int | None = None, **options: object) -> str:
        """Crawl into the Redis, or go on there, until it has so many pages."""
        rows = self.rows()
        ended_by = await self.crawl_into(rows, pages, **options)
        self.resign()
        return ended_by

    async def crawl_file(self, path: Path, pages: int | None = None, **options: object) -> str:
        """Crawl into a file, or go on there, until it has so many pages."""
        return await self.crawl_into(SqliteRows(path), pages, **options)

    async def crawl_into(self, rows: Rows, pages: int | None = None, **options: object) -> str:
        """Crawl into rows, and close them."""
        plan = self.plan(**options)
        store = Frontier(rows, frontier_rules(plan.options, strict=False), time.time())
        try:
            await store.put_metadata("options", pack_options(plan.options))
            return await self.work(store, plan, pages)
        finally:
            await store.close()

    def resign(self) -> None:
        """Let nobody lead the crawl in the Redis, as if the time of the lead were over."""
        self.client.delete(self.keys.lead)

    @asynccontextmanager
    async def running(self, plan: Plan) -> AsyncIterator[Frontier]:
        """Give the store of a crawl in the Redis, which is left as it is in the end."""
        rows = self.rows()
        store = Frontier(rows, frontier_rules(plan.options, strict=False), time.time())
        await store.put_metadata("options", pack_options(plan.options))
        try:
            yield store
        finally:
            rows.close()

    async def work(self, store: Frontier, plan: Plan, pages: int | None = None) -> str:
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
            engine = Engine(store, time.time, Fifo(), draw, store.commit)
            workers = InProcessWorkers(context, [4, 4], engine.settled)
            running = asyncio.create_task(engine.run(workers))
            while not running.done():
                if pages is not None and (await store.snapshot(time.time())).pages >= pages:
                    engine.stop()
                    break
                engine.settled()  # nobody tells it that there is anything to go on with
                workers.wake()
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(running), 0.005)
            return await running

    # -- reading ---------------------------------------------------------------------------------

    def verified(self) -> Verification:
        """Verify the crawl in the Redis."""
        return verified(in_redis(self.url, self.name))

    def broken(self) -> dict[str, list[str]]:
        """Return the checks that failed, with examples."""
        return broken(in_redis(self.url, self.name))


@pytest.fixture
def lab(web: Web, redis_url: str) -> Iterator[CrawlLab]:
    """A laboratory with a crawl of its own in the Redis of this process."""
    lab = CrawlLab(web, redis_url, secrets.token_hex(4))
    yield lab
    lab.client.close()
