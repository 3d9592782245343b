"""Joining a crawl that is in the store already."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from gossamer.config import CrawlOptions
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.shared_options import unpack_options
from gossamer.errors import CrawlError, UsageError
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


async def require_crawl(notes: CrawlNotes, name: str) -> None:
    """Raise a CrawlError if the store does not hold the crawl, in which nothing is left to do."""
    if await notes.get(OPTIONS_NOTE) is None:
        raise CrawlError(
            f"the crawl {name} is not in the store any more: it was deleted, or the server has "
            "lost its data"
        )


def shared_address(options: CrawlOptions) -> RedisAddress:
    """Return where the shared store is."""
    if not options.store.is_server:
        raise UsageError(
            f"processes share a crawl over a Redis, and {options.store} is none: write "
            "--store redis://HOST"
        )
    return parse_address(options.store.url)


def crawl_name(options: CrawlOptions) -> str:
    """Return the name of the crawl that is meant."""
    if options.name is None:
        raise UsageError("which crawl? Name it with --name, as the command that began it says")
    return options.name


@asynccontextmanager
async def join_crawl(
    own: CrawlOptions, say: Callable[[str], None], *, patience_s: float = PATIENCE_S
) -> AsyncIterator[Membership]:
    """Take part in a crawl; `own` says where it is and what it is called."""
    address, name = shared_address(own), crawl_name(own)
    async with CrawlNotes(address, name) as notes:
        options = await _options(notes, own, name, say, patience_s)
        how = Opening(allow_insecure=own.insecure_store, tell=say)
        store = await open_redis(address.url(), name, None, how)
        try:
            yield Membership(Plan(options), store, notes)
        finally:
            await store.close()


async def _options(
    notes: CrawlNotes, own: CrawlOptions, name: str, say: Callable[[str], None], patience_s: float
) -> CrawlOptions:
    """Return the options of the crawl as soon as it is there."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + patience_s
    told = False
    while (note := await notes.get(OPTIONS_NOTE)) is None:
        if loop.time() >= give_up_at:
            raise CrawlError(
                f"there is no crawl {name} in {shared_address(own)}: begin it with gossamer crawl, "
                "or see whether the name is right"
            )
        if not told:
            told = True
            say(f"waiting for the crawl {name} to begin")
        await asyncio.sleep(ASK_EVERY_S)
    return unpack_options(note, own)
