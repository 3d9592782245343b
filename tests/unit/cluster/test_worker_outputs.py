"""The part of a worker: who takes it, and when."""

import asyncio
import secrets
from pathlib import Path

import pytest

from gossamer.cluster.membership import Membership
from gossamer.cluster.worker_outputs import WorkerOutputs
from gossamer.config import load
from gossamer.errors import CrawlError
from gossamer.outputs.lock import OutputLock
from gossamer.outputs.state import state_folder
from gossamer.outputs.targets import OutputWishes
from gossamer.plan import Plan
from gossamer.stores.redis import Opening, open_redis
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import delete_crawl


@pytest.mark.req("B9")
def test_outputs_that_another_worker_writes_are_not_a_second_part(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that take a part for the same outputs at once would leave the pages of one unwritten."""
    monkeypatch.setattr("gossamer.outputs.lock.LOCKED_FOR_S", 0.1)
    name, address = secrets.token_hex(4), parse_address(redis_url)
    given = {
        "store": redis_url,
        "name": name,
        "dir": str(tmp_path / "b"),
        "output": [str(tmp_path / "b.jsonl")],
        "seeds": ["http://127.0.0.1/"],
    }
    plan = Plan(load(given, {}).options)
    folder = state_folder(plan.directory).absolute()
    (spec,) = OutputWishes.of(plan.options, name, []).specs(folder)

    async def story() -> None:
        store = await open_redis(redis_url, name, plan.store_rules(strict=False), Opening())
        async with CrawlNotes(address, name) as notes:
            member = Membership(plan, store, notes, "one", has_outputs=True)
            first = await WorkerOutputs.prepare(member, [], lambda _: None)
            lock = OutputLock(spec)
            lock.take()
            with pytest.raises(CrawlError, match="another process is writing"):
                await WorkerOutputs.prepare(member, [], lambda _: None)
            lock.let_go()
            again = await WorkerOutputs.prepare(member, [], lambda _: None)
            assert (first.part, again.part) == (1, 1)
        await store.close()
        await delete_crawl(address, name)

    asyncio.run(story())
