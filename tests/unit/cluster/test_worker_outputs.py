"""The part of a worker: who takes it, and when."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from gossamer.cluster.membership import Membership
from gossamer.cluster.worker_outputs import WorkerOutputs
from gossamer.config import load
from gossamer.errors import CrawlError
from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.lock import OutputLock
from gossamer.outputs.state import Mark, OutputState, StateFile, state_folder
from gossamer.outputs.targets import OutputWishes
from gossamer.plan import Plan
from gossamer.stores.redis import Opening, open_redis
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import connect
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import delete_crawl

WRITTEN = Mark(number=1, url_id=1, settled_at=1.0, position=b"1")


def plan_of(folder: Path, redis_url: str, name: str, output: str) -> Plan:
    """Return the plan of a worker with a directory and an output of its own."""
    given = {
        "store": redis_url,
        "name": name,
        "dir": str(folder / output),
        "output": [str(folder / f"{output}.jsonl")],
        "seeds": ["http://127.0.0.1/"],
    }
    return Plan(load(given, {}).options)


def spec_of(plan: Plan) -> OutputSpec:
    (spec,) = OutputWishes.of(plan.options, plan.name, []).specs(
        state_folder(plan.directory).absolute()
    )
    return spec


def read(file: StateFile) -> OutputState:
    found = file.read()
    assert found is not None
    return found


@asynccontextmanager
async def joined(plan: Plan) -> AsyncIterator[Membership]:
    """Take part in a crawl of a worker, which is deleted afterwards."""
    url = plan.options.store.url
    store = await open_redis(url, plan.name, plan.store_rules(strict=False), Opening())
    async with CrawlNotes(parse_address(url), plan.name) as notes:
        yield Membership(plan, store, notes, "one", has_outputs=True)
    await store.close()
    await delete_crawl(parse_address(url), plan.name)


async def prepare(member: Membership) -> WorkerOutputs:
    return await WorkerOutputs.prepare(member, [], lambda _: None)


@pytest.mark.req("B9")
def test_outputs_that_another_worker_writes_are_not_a_second_part(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that take a part for the same outputs at once would leave the pages of one unwritten."""
    monkeypatch.setattr("gossamer.outputs.lock.LOCKED_FOR_S", 0.1)
    plan = plan_of(tmp_path, redis_url, secrets.token_hex(4), "b")

    async def story() -> None:
        async with joined(plan) as member:
            first = await prepare(member)
            lock = OutputLock(spec_of(plan))
            lock.take()
            with pytest.raises(CrawlError, match="another process is writing"):
                await prepare(member)
            lock.let_go()
            assert (first.part, (await prepare(member)).part) == (1, 1)

    asyncio.run(story())


@pytest.mark.req("B9")
def test_a_part_that_a_server_has_lost_and_given_to_another_is_left_to_that_one(
    tmp_path: Path, redis_url: str
) -> None:
    name = secrets.token_hex(4)
    plan, other = (plan_of(tmp_path, redis_url, name, one) for one in "bc")
    spec = spec_of(plan)
    file = StateFile(spec.folder, spec.key)

    async def story() -> None:
        async with joined(plan) as member:
            first = await prepare(member)
            await first.tell(1)
            file.write(msgspec.structs.replace(read(file), marks=(WRITTEN,)))
            async with connect(parse_address(redis_url)) as client:
                await client.hdel(key(name, "notes"), "part:1")
            second = await prepare(msgspec.structs.replace(member, plan=other))
            with pytest.raises(CrawlError, match="part 1 of the crawl is another worker's by now"):
                await first.tell(2)
            again = await prepare(member)
            assert (second.part, again.part) == (1, 2)
            assert read(file).marks == (), "it is written again"

    asyncio.run(story())
