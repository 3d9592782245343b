"""The bodies of a worker's pages, where they are not kept in the store."""

import asyncio
from contextlib import AsyncExitStack

import msgspec

from gossamer.config import keep_seconds
from gossamer.frontier.contract import FrontierClient, Settlement
from gossamer.plan import Plan
from gossamer.stores.bodies.place import BODIES_NOTE, read_place
from gossamer.stores.bodies.upkeep import SegmentUpkeep, take_folder
from gossamer.stores.bodies.writer import BodyWriter, WriterRules
from gossamer.stores.ownership import IDENTITY_NOTE, CrawlOwner


async def open_body_writer(
    plan: Plan, store: FrontierClient, worker: int, stack: AsyncExitStack
) -> BodyWriter | None:
    """Open the writer of bodies, which the stack closes; None: they are kept in the store."""
    place = read_place(await store.note(BODIES_NOTE))
    if place is None:
        return None
    options = plan.options
    identity = (await store.note(IDENTITY_NOTE) or b"").decode()
    folder = take_folder(place, CrawlOwner(identity, plan.name), plan.directory, first=False)
    keep_s = keep_seconds(options.keep_s, shared=options.store.is_shared)
    rules = WriterRules(identity=identity, worker=worker, keep_s=keep_s)
    if not place.bucket:
        writer = BodyWriter(folder, rules)
    else:
        upkeep = SegmentUpkeep(place, folder, identity)
        await asyncio.to_thread(upkeep.finish_left)  # of workers that died on this machine
        writer = BodyWriter(folder, rules, upkeep.upload)
    stack.push_async_callback(writer.close)
    return writer


def with_body_written(settlement: Settlement, writer: BodyWriter | None) -> Settlement:
    """Return a settlement that refers to the body of its page, which is written; only once."""
    page = settlement.page
    if writer is None or page is None or writer.has_written(page.content):
        return settlement
    url_id = settlement.task.url_id
    reference = writer.append(page.content, url_id, page.fetched_at, page.digest)
    return msgspec.structs.replace(
        settlement, page=msgspec.structs.replace(page, content=reference)
    )
