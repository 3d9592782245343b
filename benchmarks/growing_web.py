"""A web of any size for benchmarks of a store, and one process that crawls it without a network.

Every host has 200 URLs, unless one says otherwise. Every page is unlike all others and has 32
links: two to pages that nobody knows yet, four anywhere, the others to pages of its own host.
However many hosts are known, fifty are crawled at a time, and then the next: a worker stays with
its hosts as long as they have URLs.
"""

import asyncio
import hashlib
import os
import random
import re
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

from gossamer.content.similarity import SAMPLE_BYTES, banding_for
from gossamer.frontier.contract import (
    FrontierClient,
    HostFeedback,
    KeptPage,
    Link,
    Settlement,
    Task,
)
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model import HostKey, Outcome, Url
from gossamer.model.names import Sketch
from gossamer.model.page import PageAttributes, pack_attributes

ON_A_HOST = 200
AT_A_TIME = 50 * ON_A_HOST
QUEUES = 100
LINKS, NEW, ELSEWHERE = 32, 2, 4
AT_ONCE = 64
ATTRIBUTES = pack_attributes(
    PageAttributes(
        content_type="text/html",
        encoding="utf-8",
        title="An article with a title of some words",
    )
)
SIMILARITY = 0.9
SEEDS_AT_ONCE = 2000
RULES = FrontierRules(
    scheduler=SchedulerRules(delay_s=0.0, host_connections=AT_ONCE, queues=QUEUES),
    max_pages=10**9,
    max_bytes=10**15,
    similarity=SIMILARITY,
)

StoreT = TypeVar("StoreT", bound=FrontierClient)
_NUMBER = re.compile(r"-(\d+)\.html$")


def link(number: int, on_a_host: int = ON_A_HOST) -> Link:
    domain = f"example{number // on_a_host}.test"
    url = f"https://www.{domain}/section/{number % 97}/article-with-a-title-{number}.html"
    key = hashlib.blake2b(url.encode(), digest_size=16).digest()
    return Link(Url(url), key, HostKey(f"www.{domain}"), domain)


def number_of(url: Url) -> int:
    found = _NUMBER.search(url)
    assert found is not None
    return int(found[1])


def score(url: Url) -> float:
    """Return a score by which the hosts go in groups."""
    return 100 / QUEUES * min(number_of(url) // AT_A_TIME, QUEUES - 1)


def random_sketch() -> Sketch:
    bands = tuple(os.urandom(8) for _ in range(banding_for(SIMILARITY, SAMPLE_BYTES).count))
    return Sketch(bands, os.urandom(SAMPLE_BYTES))


class GrowingCrawl(Generic[StoreT]):
    """Worker and frontier in one process; the web grows with every page."""

    def __init__(self, store: StoreT, bodies: Sequence[bytes], on_a_host: int = ON_A_HOST) -> None:
        self.store = store
        self.known = 0
        self.pages = 0
        self._bodies = bodies
        self._on_a_host = on_a_host
        self._random = random.Random(1)  # noqa: S311 -- repeatable

    async def discover(self, known: int) -> None:
        """Have so many URLs known, those that are new waiting in the priority queues."""
        while self.known < known:
            some = range(self.known, min(self.known + SEEDS_AT_ONCE, known))
            await self.store.add_seeds([self._link(number) for number in some], time.time())
            self.known = some.stop
            await self._score(SEEDS_AT_ONCE)

    async def visit(self, pages: int) -> None:
        """Crawl so many pages more, or a few more than that."""
        await self.store.join(0, time.time())
        wanted = self.pages + pages
        while self.pages < wanted:
            await self._score(500)
            await self.store.route([range(QUEUES)] * 16, time.time())
            leased = await self.store.lease(0, AT_ONCE, time.time())
            await asyncio.gather(*[self._visit(task) for task in leased.tasks])

    async def _score(self, limit: int) -> None:
        found = await self.store.candidates(limit)
        await self.store.prioritise([(one, score(one.url)) for one in found])

    async def _visit(self, task: Task) -> None:
        """Keep a page as a crawl does whose modules need not see it first."""
        digest = hashlib.blake2b(task.url.encode(), digest_size=16).digest()
        now, body = time.time(), self._bodies[task.url_id % len(self._bodies)]
        page = KeptPage(
            page_id=0,
            size=len(body),
            digest=digest,
            content=body,
            attributes=ATTRIBUTES,
            fetched_at=now,
        )
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            status=200,
            page=page,
            links=self._links(task),
            size=len(body),
            feedback=HostFeedback(ended=now, took_s=0.01),
        )
        assert (await self.store.claim_and_settle(settlement, random_sketch(), now)).accepted
        self.pages += 1

    def _links(self, task: Task) -> list[Link]:
        draw = self._random.randrange
        first = number_of(task.url) // self._on_a_host * self._on_a_host
        new = range(self.known, self.known + NEW)
        self.known += NEW
        elsewhere = [draw(self.known) for _ in range(ELSEWHERE)]
        near = [first + draw(self._on_a_host) for _ in range(LINKS - NEW - ELSEWHERE)]
        return [self._link(min(number, self.known - 1)) for number in (*new, *elsewhere, *near)]

    def _link(self, number: int) -> Link:
        return link(number, self._on_a_host)
