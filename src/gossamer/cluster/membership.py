"""Joining a crawl that is in the store already."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from gossamer.config import CrawlOptions
from gossamer.errors import CrawlError, UsageError
from gossamer.plan.plan import Plan
from gossamer.plan.stored_options import unpack_options
from gossamer.stores.opening import OPTIONS_NOTE
from gossamer.stores.redis import RedisStore, open_redis
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import Opening

PATIENCE_S = 60.0
"""How long a process waits for a crawl that is not there yet: it may have been started first."""
ASK_EVERY_S = 0.2


class Membership(msgspec.Struct, frozen=True):
    """What a process needs to take part."""

    plan: Plan
    store: RedisStore
    notes: CrawlNotes


def shared_address(options: CrawlOptions) -> RedisAddress:
    """Return where the shared store is."""
    if not options.store.is_server:
        raise UsageError(
            f"{options.store} is not a shared store: give the address of one with --store "
            "redis://HOST, or in the variable GOSSAMER_STORE"
        )
    return parse_address(options.store.url)


def crawl_name(options: CrawlOptions) -> str:
    """Return the name of the crawl that is meant."""
    if options.name is None:
        raise UsageError("which crawl? Name it with --name, as the command that began it says")
    return options.name


@asynccontextmanager
async def join_crawl(own: CrawlOptions, say: Callable[[str], None]) -> AsyncIterator[Membership]:
    """Take part in a crawl; `own` says where it is and what it is called."""
    address, name = shared_address(own), crawl_name(own)
    async with CrawlNotes(address, name) as notes:
        note = await notes.get(OPTIONS_NOTE)
        if note is None:
            say(f"waiting for the crawl {name} to begin")
            note = await _wait_for_options(notes, address, name)
        how = Opening(allow_insecure=own.insecure_store, tell=say)
        store = await open_redis(address.url(), name, None, how)
        try:
            yield Membership(Plan(unpack_options(note, own)), store, notes)
        finally:
            await store.close()


async def _wait_for_options(notes: CrawlNotes, address: RedisAddress, name: str) -> bytes:
    """Return the options of the crawl as soon as it is there."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + PATIENCE_S
    while loop.time() < give_up_at:
        await asyncio.sleep(ASK_EVERY_S)
        if (note := await notes.get(OPTIONS_NOTE)) is not None:
            return note
    raise CrawlError(
        f"there is no crawl {name} in {address}: begin it with gossamer crawl, or see whether the "
        "name is right"
    )
