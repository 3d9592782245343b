"""Joining a crawl that is in the store already."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from gossamer.config import IN_DIRECTORY, CrawlOptions, StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.plan.plan import Plan
from gossamer.plan.stored_options import unpack_options
from gossamer.stores.embedded.directory import find_crawl
from gossamer.stores.opening import OPTIONS_NOTE
from gossamer.stores.own_redis.opening import await_running
from gossamer.stores.ownership import IDENTITY_NOTE
from gossamer.stores.redis import RedisStore, open_redis
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.crawl_client import ask_server, find_crawl_name
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import Opening
from gossamer.stores.registry import address_in

PATIENCE_S = 60.0
"""How long a process waits for a crawl that is not there yet: it may have been started first."""
ASK_EVERY_S = 0.2


class Membership(msgspec.Struct, frozen=True):
    """What a process needs to take part."""

    plan: Plan
    store: RedisStore
    notes: CrawlNotes
    identity: str


async def find_shared_crawl(options: CrawlOptions) -> tuple[RedisAddress, str]:
    """Return where the shared store is, and the name of the crawl that is meant."""
    store = options.store
    if store == IN_DIRECTORY and options.dir is not None:
        store = address_in(options.dir)
    if not store.is_shared:
        raise UsageError(
            f"{options.store} is not a shared store: give the address of one with --store "
            "redis://HOST, or in the variable GOSSAMER_STORE"
        )
    address = parse_address(store.url) if store.is_server else await _own_server(options)
    if options.name is not None:
        return address, options.name  # it may not have begun, and the server may not be there yet
    return address, await ask_server(address, lambda nodes: find_crawl_name(nodes, None))


async def _own_server(options: CrawlOptions) -> RedisAddress:
    directory = find_crawl(options.dir, Path())
    address = await await_running(directory, to_join=True)
    if address is None:
        raise CrawlError(
            f"no crawl with a Redis of its own is running in {directory}: begin it there with "
            "gossamer crawl … --store redis:"
        )
    return address


@asynccontextmanager
async def join_crawl(own: CrawlOptions, say: Callable[[str], None]) -> AsyncIterator[Membership]:
    """Take part in a crawl; `own` says where it is and what it is called."""
    address, name = await find_shared_crawl(own)
    own = replace(own, store=StoreAddress("redis", url=address.url()), name=name)
    async with CrawlNotes(address, name) as notes:
        note = await notes.get(OPTIONS_NOTE)
        if note is None:
            say(f"waiting for the crawl {name} to begin")
            note = await _wait_for_options(notes, address, name)
        how = Opening(allow_insecure=own.insecure_store, tell=say)
        store = await open_redis(address.url(), name, None, how)
        try:
            identity = (await notes.get(IDENTITY_NOTE) or b"").decode()
            yield Membership(Plan(unpack_options(note, own)), store, notes, identity)
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
