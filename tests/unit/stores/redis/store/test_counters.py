"""The counters from which a status is read agree with the records, whatever happens."""

import asyncio
import hashlib
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gossamer.frontier import QueueTable, SchedulerRules
from gossamer.model import Outcome
from gossamer.stores.claim import KeptPage
from gossamer.stores.contract import Settlement, Task
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.redis import Opening, RedisStore
from gossamer.stores.redis.counters import unpack_counters
from gossamer.stores.redis.records import read_url
from gossamer.stores.url_record import UrlState

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

START = 1_000_000.0
WAITING = {UrlState.QUEUED, UrlState.ASSIGNED}
MOVES = 200


class CountedCrawl:
    """A crawl in which everything happens that changes a counter."""

    def __init__(self, stage: "Stage", seed: int, *, strict: bool) -> None:
        self.stage = stage
        self.random = random.Random(seed)  # noqa: S311 -- repeatable
        self.now = START
        self.queues = 10
        self.strict = strict
        self.tasks: list[Task] = []
        self.happened: Counter[str] = Counter()

    async def open(self) -> RedisStore:
        scheduler = SchedulerRules(
            delay_s=0.0,
            host_connections=9,
            queues=self.queues,
            strict=self.strict,
            lease_s=10.0,
            worker_queue=8,
        )
        self.stage.rules = msgspec.structs.replace(
            self.stage.rules, scheduler=scheduler, max_depth=1, revisit_s=60.0, similarity=1.0
        )
        return await self.stage.open(Opening(clock="given", now=self.now, take_over=True))

    def names(self, count: int) -> list[str]:
        return [f"h{self.random.randrange(4)}/{self.random.randrange(60)}" for _ in range(count)]

    async def move(self, store: RedisStore) -> RedisStore:
        """Do one thing, and return the store with which to go on."""
        what = self.random.choice(
            ["seed", *["score", "lease"] * 3, *["end"] * 9, "wait", "rest", "reopen"]
        )
        if what == "seed":
            await self.stage.add_seeds(store, *self.names(2), now=self.now)
        elif what == "score":
            found = await store.candidates(5)
            await store.prioritise([(one, self.random.uniform(0, 100)) for one in found])
        elif what == "lease":
            await store.join(0, self.now)
            await store.route([range(self.queues)] * 3, self.now)
            self.tasks += (await store.lease(0, 3, self.now)).tasks
        elif what == "end" and self.tasks:
            await self.end(store, self.tasks.pop(self.random.randrange(len(self.tasks))))
        elif what == "wait":
            self.now += self.random.choice([1.0, 11.0])
            await store.reap(self.now)
        elif what == "rest" and self.random.random() < 0.3:
            self.now += 61.0
        elif what == "reopen" and self.random.random() < 0.3:
            await store.let_go()
            self.queues = self.random.choice([1, 3, 10, 100])
            return await self.open()
        return store

    async def end(self, store: RedisStore, task: Task) -> None:
        outcome = self.random.choice(["page", "page", "page", "page", "redirect", "retry", "none"])
        links = [self.stage.link(name) for name in self.names(3)]
        feedback = HostFeedback(ended=self.now)
        settlement = Settlement(task=task, outcome=Outcome.NOT_FOUND, feedback=feedback)
        if outcome == "page":
            # few contents, so that many are duplicates
            digest = hashlib.blake2b(bytes([self.random.randrange(40)]), digest_size=16).digest()
            claim = await store.claim(task, digest, None, self.now)
            page = claim.page_id and KeptPage(
                page_id=claim.page_id, size=1, digest=digest, content=b"x", fetched_at=self.now
            )
            settlement = msgspec.structs.replace(
                settlement,
                outcome=Outcome.FETCHED if page else Outcome.DUPLICATE,
                page=page or None,
                links=links,
            )
            if self.random.random() < 0.1:
                await store.release(task, None, self.now)  # the claim is dropped
        elif outcome == "redirect":
            settlement = msgspec.structs.replace(
                settlement, outcome=Outcome.REDIRECTED, redirect=True, links=links[:1]
            )
        elif outcome == "retry":
            settlement = msgspec.structs.replace(
                settlement, outcome=Outcome.SERVER_ERROR, retry=True
            )
        settled = await store.settle(settlement, self.now)
        self.happened[settlement.outcome] += settled.accepted

    async def check(self) -> None:
        """Compare the counters with the records."""
        async with self.stage.client() as client:
            records: Any = await client.hgetall(self.stage.key("urls"))
            counts = unpack_counters(await client.get(self.stage.key("counts")))
            depths: Any = await client.hgetall(self.stage.key("depths"))
            claims = await client.hlen(self.stage.key("claims"))
            refusals = await client.hlen(self.stage.key("refusals"))
            free = await client.zcard(self.stage.key("free"))
            queue_counts: Any = await client.hgetall(self.stage.key("queue_counts"))
        rows = [read_url(packed) for packed in records.values()]
        table = QueueTable(self.queues)
        expected: Counter[str] = Counter(f"urls:{row.depth}" for row in rows)
        expected.update(f"done:{row.depth}" for row in rows if row.state == UrlState.DONE)
        expected.update(f"pages:{row.depth}" for row in rows if row.page)
        assert +Counter({name.decode(): int(count) for name, count in depths.items()}) == expected
        assert +Counter({int(queue): int(count) for queue, count in queue_counts.items()}) == (
            Counter(table.queue_of(row.score) for row in rows if row.state in WAITING)
        )
        too_deep = sum(row.state == UrlState.TOO_DEEP for row in rows)
        assert counts["too_deep"] == too_deep
        assert (counts["claims"], counts["free"]) == (claims + refusals, free)
        moments = [attempt[0] for row in rows for attempt in row.attempts]
        assert counts["started"] == min(moments, default=0.0)
        assert counts["last"] == max(moments, default=0.0)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_counters_agree_with_the_records(stage: "Stage", seed: int, *, strict: bool) -> None:
    crowd = CountedCrawl(stage, seed, strict=strict)

    async def story() -> None:
        store = await crowd.open()
        await stage.add_seeds(store, "h0/0", "h1/0")
        for _ in range(MOVES):
            store = await crowd.move(store)
            await crowd.check()
        await store.close()

    asyncio.run(story())
    assert crowd.happened[Outcome.FETCHED]


def test_a_host_is_not_lost_when_the_number_of_queues_changes_back(stage: "Stage") -> None:
    """It is still in a ring when it has nothing left; those rings are deleted with their queues."""

    async def reopened(queues: int) -> RedisStore:
        scheduler = msgspec.structs.replace(stage.rules.scheduler, queues=queues)
        stage.rules = msgspec.structs.replace(stage.rules, scheduler=scheduler)
        return await stage.open(Opening(clock="given", now=START, take_over=True))

    async def story() -> None:
        store = await reopened(1)
        await stage.add_seeds(store, "a/1")
        (task,) = await stage.take(store)
        await stage.keep(store, task)
        for queues in (10, 1):
            await store.close()
            store = await reopened(queues)
        await stage.add_seeds(store, "a/2")
        assert len(await stage.take(store)) == 1
        await store.close()

    asyncio.run(story())


def test_a_page_that_comes_nearer_is_counted_there(stage: "Stage") -> None:
    async def depths() -> dict[str, int]:
        async with stage.client() as client:
            found: Any = await client.hgetall(stage.key("depths"))
        return {name.decode(): int(count) for name, count in found.items() if int(count)}

    async def story() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/0")
        for links in (["a/1"], ["a/2"], []):
            (task,) = await stage.take(store)
            await stage.keep(store, task, links)
        everywhere = {
            f"{name}:{depth}": 1 for name in ("urls", "done", "pages") for depth in (0, 1, 2)
        }
        assert await depths() == everywhere
        await stage.add_seeds(store, "a/2")
        assert await depths() == {
            "urls:0": 2,
            "done:0": 2,
            "pages:0": 2,
            "urls:1": 1,
            "done:1": 1,
            "pages:1": 1,
        }
        await store.close()

    asyncio.run(story())


def test_a_url_that_is_given_up_has_no_page(stage: "Stage") -> None:
    async def story() -> None:
        store, now = await stage.open(), START
        await stage.add_seeds(store, "poison/")
        for worker in range(3):
            (_,) = await stage.take(store, now, worker)
            now += stage.rules.scheduler.lease_s
            await store.reap(now)
        async with stage.client() as client:
            found = await client.hgetall(stage.key("depths"))
            counts = unpack_counters(await client.get(stage.key("counts")))
        assert found == {b"urls:0": b"1", b"done:0": b"1"}
        assert counts["started"] == counts["last"] == now
        await store.close()

    asyncio.run(story())


def test_notes_are_bytes(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        assert await store.note("options") is None
        for value in (b"", b"\x00\xff\xc2", b"x" * 100_000):
            await store.put_note("options", value)
            assert await store.note("options") == value
        assert await store.note("other") is None
        await store.close()

    asyncio.run(story())
