"""A divided crawl, in which a process dies at every step, or a server forgets its last moments."""

import asyncio
import hashlib
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
import pytest
import redis
import zstandard

from gossamer.frontier import DeskRules
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores import StoreRules
from gossamer.stores.contract import KeptPage, Link, Pace, Place, Settlement, Task
from gossamer.stores.redis import DividedStore, Opening, open_shared
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.courier import Courier
from gossamer.stores.redis.keys import CENTRE, prefix
from gossamer.stores.redis.open import delete_crawl, open_reader
from gossamer.stores.redis.partitions import partition_of, sorted_out
from gossamer.stores.redis.scripts import Script

STRIDE = 11
"""Every so manieth step is the last of a process: steps repeat in another rhythm."""
START, LEASE_S = 1_000_000.0, 10.0
PARTITIONS = 4
WEB: dict[str, tuple[str, list[str]]] = {
    "a/": ("home", ["a/1", "b/", "c/old"]),
    "a/1": ("one", ["a/2"]),
    "a/2": ("two", ["d/deep"]),
    "b/": ("the same", ["a/", "d/"]),
    "c/old": ("", ["c/new"]),
    "c/new": ("the same", ["d/deep", "b/"]),
    "d/": ("dee", ["a/2", "e/"]),
    "d/deep": ("deep", ["e/", "e/last"]),
    "e/": ("the same", []),
    "e/last": ("last", ["a/"]),
}
"""Pages with their content and links; one without content leads on to its link."""
PAGES = len({content for content, _ in WEB.values() if content})
RULES = StoreRules(
    desk=DeskRules(delay_s=0.0, lease_s=LEASE_S),
    max_pages=PAGES + 1,
    max_bytes=10**9,
    ttl_s=10**6,
)


class Died(Exception):  # noqa: N818 - it is no error
    """The process has ended here."""


class End(NamedTuple):
    """What came of a crawl, whichever of the twins was first."""

    depths: dict[str, int]
    outcomes: dict[str, int]
    numbers: list[int]
    contents: list[bytes]


def link(name: str) -> Link:
    host = f"{name.partition('/')[0]}.test"
    url = Url(f"http://{host}/{name.partition('/')[2]}")
    key = hashlib.blake2b(url.encode(), digest_size=16).digest()
    return Link(url, key, HostKey(host), host)


def name_of(url: str) -> str:
    return url.removeprefix("http://").replace(".test/", "/", 1)


class Stage:
    """A crawl and its clock."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"divided-{secrets.token_hex(4)}"
        self.now = START
        self._worker = 0

    @asynccontextmanager
    async def process(self) -> AsyncIterator[DividedStore]:
        """Take part, and leave without a word."""
        how = Opening(clock="given", now=self.now, is_checked=True, partitions=PARTITIONS)
        store = await open_shared(self.url, self.name, RULES, how)
        assert isinstance(store, DividedStore)
        self._worker += 1
        try:
            yield store
        finally:
            await store.let_go()

    async def plant(self, store: DividedStore) -> None:
        await store.plant([link("a/")], self.now)

    async def take(self, store: DividedStore, limit: int = 100) -> list[Task]:
        await store.join(self._worker, self.now)
        found = await store.candidates(100)
        await store.prioritise([(one, 50.0) for one in found])
        await store.route([range(10)] * 100, self.now)
        return (await store.lease(self._worker, limit, self.now)).tasks

    async def settlement(self, store: DividedStore, task: Task) -> Settlement:
        """Visit a page: claim its number, unless it leads on."""
        content, names = WEB[name_of(task.url)]
        links, pace = [link(name) for name in names], Pace(ended=self.now)
        if not content:
            return Settlement(
                task=task, outcome=Outcome.REDIRECTED, links=links, redirect=True, pace=pace
            )
        digest = hashlib.blake2b(content.encode(), digest_size=16).digest()
        claim = await store.claim(task, digest, None, self.now)
        if claim.page_id is None:
            return Settlement(task=task, outcome=Outcome.DUPLICATE, links=links, pace=pace)
        page = KeptPage(
            page_id=claim.page_id,
            size=100,
            digest=digest,
            content=zstandard.compress(content.encode()),
            fetched_at=self.now,
        )
        return Settlement(
            task=task, outcome=Outcome.FETCHED, page=page, links=links, size=100, pace=pace
        )

    async def crawl(self, store: DividedStore) -> None:
        """Work until the crawl is over."""
        for _ in range(60):
            await store.reap(self.now)
            for task in await self.take(store):
                await store.settle(await self.settlement(store, task), self.now)
            if await store.ended_by() is not None:
                return
            self.now += 1.0
        pytest.fail(f"it does not end: {await store.look()}")

    async def end(self) -> End:
        reader = await open_reader(parse_address(self.url), self.name)
        try:
            records = [record async for record in reader.records()]
            pages = [page async for page in reader.pages()]
            contents = [await reader.content(page.id) or b"" for page in pages]
        finally:
            await reader.close()
        assert all(record.place is Place.FINISHED for record in records)
        return End(
            {name_of(record.url): record.depth for record in records},
            Counter(str(record.outcome) for record in records),
            [page.id for page in pages],
            sorted(contents),
        )


Story = Callable[[Stage], Coroutine[Any, Any, None]]


def play(url: str, story: Story) -> None:
    """Tell a story about a crawl of its own."""
    stage = Stage(url)
    try:
        asyncio.run(story(stage))
    finally:
        asyncio.run(delete_crawl(parse_address(url), stage.name))


EXPECTED = End(
    {"a/": 0, "a/1": 1, "b/": 1, "c/old": 1, "c/new": 1, "a/2": 2, "d/": 2, "d/deep": 2}
    | {"e/": 3, "e/last": 3},
    {"fetched": PAGES, "duplicate": 2, "redirected": 1},
    [*range(1, PAGES + 1)],
    sorted({content.encode() for content, _ in WEB.values() if content}),
)


def test_the_small_web_is_divided() -> None:
    assert len({partition_of(f"{host}.test", PARTITIONS) for host in "abcde"}) >= 3


def test_links_depths_twins_and_budgets_hold_across_partitions(redis_url: str) -> None:
    async def story(stage: Stage) -> None:
        async with stage.process() as store:
            await stage.plant(store)
            await stage.crawl(store)
            assert await store.ended_by() == "complete"
        assert await stage.end() == EXPECTED

    play(redis_url, story)


class Fate:
    """Lets a process die at one of its calls: before the server has it, or before the answer."""

    def __init__(self, at: int, *, carried_out: bool) -> None:
        self._left = at
        self._carried_out = carried_out
        self._ask = Courier.ask

    async def ask(
        self,
        courier: Courier,
        script: Script,
        asked_at: float,
        *arguments: bytes,
        elsewhere: Callable[[], Sequence[bytes]] | None = None,
    ) -> bytes:
        self._left -= 1
        if self._left > 0:
            return await self._ask(courier, script, asked_at, *arguments, elsewhere=elsewhere)
        if self._left == 0 and self._carried_out:
            await self._ask(courier, script, asked_at, *arguments, elsewhere=elsewhere)
        raise Died

    def rule(self, patched: pytest.MonkeyPatch) -> None:
        """From now on calls are counted."""
        fate = self

        async def ask(
            courier: Courier,
            script: Script,
            asked_at: float,
            *arguments: bytes,
            elsewhere: Callable[[], Sequence[bytes]] | None = None,
        ) -> bytes:
            return await fate.ask(courier, script, asked_at, *arguments, elsewhere=elsewhere)

        patched.setattr(Courier, "ask", ask)


def live_through(url: str, fate: Fate, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Crawl with a process that dies and one that comes after it; tell whether the first died."""
    died = False

    async def story(stage: Stage) -> None:
        nonlocal died
        async with stage.process() as store:
            await stage.plant(store)
            with monkeypatch.context() as patched:
                fate.rule(patched)
                try:
                    await stage.crawl(store)
                except Died:
                    died = True
        stage.now += LEASE_S + 1
        async with stage.process() as store:
            await stage.crawl(store)
            assert await store.ended_by() == "complete"
        assert await stage.end() == EXPECTED

    play(url, story)
    return died


@pytest.mark.parametrize("carried_out", [False, True], ids=["not carried out", "carried out"])
@pytest.mark.parametrize("first", [1, 2])
def test_whoever_dies_at_any_step_leaves_nothing_behind(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, first: int, carried_out: bool
) -> None:
    at = first
    while live_through(redis_url, Fate(at, carried_out=carried_out), monkeypatch):
        at += STRIDE
    assert at > 100, "there are that many steps"


def test_a_claim_that_came_too_late_is_taken_back(redis_url: str) -> None:
    """It was on its way while the lease ran out, and nobody will ever settle it."""

    async def story(stage: Stage) -> None:
        async with stage.process() as late, stage.process() as other:
            await stage.plant(late)
            (task,) = await stage.take(late)
            stage.now += LEASE_S + 1
            await other.reap(stage.now)
            claim = await late.centre.claim(task, b"another", None, stage.now)
            assert claim.page_id == 1
            assert (await late.claim(task, b"another", None, stage.now)).lost
            assert await other.ended_by() is None
            stage.now += LEASE_S + 1
            await other.reap(stage.now)
            assert (await other.look()).centre.claims == 0
            await stage.crawl(other)
        assert await stage.end() == EXPECTED

    play(redis_url, story)


def test_what_was_granted_and_never_fetched_goes_to_others(redis_url: str) -> None:
    async def story(stage: Stage) -> None:
        async with stage.process() as store:
            await stage.plant(store)
            home = partition_of("a.test", PARTITIONS)
            for partition in range(PARTITIONS):
                if partition != home:
                    await store.centre.grant(partition, 100, [], stage.now)
            _, left = await store.centre.grant(home, 1, [], stage.now)
            assert left == 0
            assert len(await stage.take(store)) == 1

    play(redis_url, story)


def test_a_message_that_is_delivered_by_many_counts_once(redis_url: str) -> None:
    async def story(stage: Stage) -> None:
        async with stage.process() as first, stage.process() as second:
            await stage.plant(first)
            (task,) = await stage.take(first)
            settlement = await stage.settlement(first, task)
            claim = await first.centre.recall(task, stage.now)
            own = partition_of("a.test", PARTITIONS)
            links = sorted_out(settlement.links, PARTITIONS)
            here = msgspec.structs.replace(settlement, links=links.pop(own, []))
            assert links, "some lead elsewhere"
            await first.parts[own].settle_part(here, claim, links, stage.now)
            assert not (await first.look()).is_quiet
            await asyncio.gather(*[one.deliver_left(stage.now) for one in (first, second) * 3])
            found = await first.candidates(10)
            assert sorted(name_of(one.url) for one in found) == ["a/1", "b/", "c/old"]
            shares = {one.domain: one.credit for one in found}
            assert shares == {"a.test": 0.0, "b.test": 0.5, "c.test": 0.5}
            assert (await first.look()).is_quiet

    play(redis_url, story)


class Server:
    """A server that can be set back to an earlier moment, one partition at a time."""

    def __init__(self, url: str, crawl: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._crawl = crawl

    def remember(self, partition: int | str) -> dict[bytes, bytes]:
        dumps = {name: self._client.dump(name) for name in self._names(partition)}
        return {name: value for name, value in dumps.items() if value is not None}

    def forget_since(self, partition: int | str, then: dict[bytes, bytes]) -> None:
        for name in self._names(partition):
            self._client.delete(name)
        for name, value in then.items():
            self._client.restore(name, 0, value)

    def _names(self, partition: int | str) -> list[bytes]:
        return [*self._client.scan_iter(match=f"{prefix(self._crawl, partition)}*", count=1000)]


@pytest.mark.parametrize("partition", [*range(PARTITIONS), CENTRE])
@pytest.mark.parametrize("round_", range(4))
def test_a_node_that_has_lost_its_last_moments_catches_up(
    redis_url: str, partition: int | str, round_: int
) -> None:
    async def story(stage: Stage) -> None:
        server = Server(redis_url, stage.name)
        async with stage.process() as store:
            await stage.plant(store)
            for number in range(round_ + 1):
                if number == round_:
                    then = server.remember(partition)
                for task in await stage.take(store):
                    await store.settle(await stage.settlement(store, task), stage.now)
                stage.now += 1.0
        server.forget_since(partition, then)
        stage.now += 1.0
        async with stage.process() as store:
            await stage.crawl(store)
        end = await stage.end()
        assert end.depths == EXPECTED.depths
        assert set(end.contents) == set(EXPECTED.contents)

    play(redis_url, story)


@pytest.mark.parametrize("lost", [partition_of("b.test", PARTITIONS), CENTRE])
def test_who_works_on_meanwhile_finds_out(redis_url: str, lost: int | str) -> None:
    """A message is missing where the next one arrives; a number is given a second time."""

    async def story(stage: Stage) -> None:
        server = Server(redis_url, stage.name)
        async with stage.process() as store:
            await stage.plant(store)
            (home,) = await stage.take(store)
            then = server.remember(lost)
            await store.settle(await stage.settlement(store, home), stage.now)
            server.forget_since(lost, then)
            for _ in range(8):  # nobody reaps, who would look after everything
                stage.now += 1.0
                for task in await stage.take(store):
                    await store.settle(await stage.settlement(store, task), stage.now)
            assert await store.ended_by() == "complete"
            assert (await store.snapshot(stage.now)).pages == PAGES
        assert await stage.end() == EXPECTED

    play(redis_url, story)
