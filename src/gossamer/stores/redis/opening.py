"""Opening a crawl in Redis to coordinate it: one process does so at a time.

The lead is a key that runs out by itself, so that a coordinator that was killed is waited out.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError
from gossamer.stores.opening import OPTIONS_NOTE, IdleRequest, OpenRequest, Say
from gossamer.stores.ownership import IDENTITY_NOTE, new_identity
from gossamer.stores.process_message import ProcessMessage
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import Opening, delete_crawl, open_redis
from gossamer.stores.redis.reader import RedisReader, reading_at
from gossamer.stores.redis.store import RedisStore
from gossamer.stores.results import ReplayedPage

LOG = logging.getLogger("gossamer.store")

ROLE = "coordinator"
LEADS_FOR_S = 5.0
"""How long nobody else may coordinate the crawl after the last word of the one that does."""
SILENT_S = 5.0
"""A worker that is alive is heard of at least this often, many times over."""
CHECK_EVERY_S = 0.1


class _Lead:
    """The right to coordinate a crawl."""

    def __init__(self, notes: CrawlNotes, where: str, say: Say, advice: str) -> None:
        self._notes = notes
        self._where = where
        self._say = say
        self._advice = advice
        """What to do where another process has it."""
        self._me = secrets.token_hex(8)

    async def take(self) -> None:
        """Take the lead; a coordinator that was killed is waited out."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + LEADS_FOR_S + CHECK_EVERY_S
        said = False
        while not await self._notes.lead(ROLE, self._me, LEADS_FOR_S):
            if loop.time() >= give_up_at:
                raise CrawlError(f"another process coordinates {self._where}: {self._advice}")
            if not said:
                said = True
                self._say("info", "checking whether another process runs this crawl")
            await asyncio.sleep(CHECK_EVERY_S)

    async def keep(self) -> None:
        """Keep the lead; a CrawlError if another process has taken it."""
        try:
            leads = await self._notes.lead(ROLE, self._me, LEADS_FOR_S)
        except CrawlError:
            return  # a store that is away for a moment is waited for by its own calls
        if not leads:
            raise CrawlError(
                f"another process has taken over {self._where}, while this one stood still: it "
                "goes on there"
            )

    async def give_up(self) -> None:
        """Let another process coordinate the crawl."""
        with suppress(CrawlError):  # it ends by itself
            await self._notes.resign(ROLE, self._me)


class _Messages:
    """The messages of a crawl that come from now on."""

    def __init__(self, notes: CrawlNotes) -> None:
        self._notes = notes
        self._after: str | None = None

    async def read(self) -> list[ProcessMessage]:
        """Return those since the last call; the first one returns none."""
        try:
            self._after, messages = await self._notes.said(self._after)
        except CrawlError:
            return []  # a store that is away for a moment is waited for by its own calls
        return messages


class RedisCrawl(msgspec.Struct, frozen=True):
    """An opened crawl in Redis."""

    store: RedisStore
    address: StoreAddress
    where: str
    identity: str
    new_worker: Callable[[], Coroutine[Any, Any, int]]
    keep: Callable[[], Coroutine[Any, Any, None]]
    messages: Callable[[], Coroutine[Any, Any, list[ProcessMessage]]]
    reader: Callable[[], AbstractAsyncContextManager[RedisReader]]
    leadership: CrawlNotes
    local_store: None = None
    worker_lock: int | None = None


@asynccontextmanager
async def open_redis_crawl(request: OpenRequest) -> AsyncIterator[RedisCrawl]:
    """Open a crawl; take over what is in progress if nobody is at work any more."""
    address = parse_address(request.address.url)
    where = f"the crawl {request.name} in {address}"
    async with CrawlNotes(address, request.name) as notes:
        advice = f"more workers join it with gossamer worker --name {request.name}"
        lead = _Lead(notes, where, request.say, advice)
        await lead.take()
        try:
            identity = await notes.get(IDENTITY_NOTE)
            is_alone = await _is_alone(notes, request)
            if request.fresh:
                if not is_alone:  # they would go on with what they know of the old one
                    raise CrawlError(
                        f"workers of {where} are still at work: stop them, and start over then"
                    )
                await delete_crawl(address, request.name)
                await lead.keep()
                if identity is not None:
                    await notes.put(IDENTITY_NOTE, identity)  # its results are still its own
            note = await notes.get(OPTIONS_NOTE)
            if note is not None:
                request.check(note)
            how = Opening(
                take_over=is_alone,
                allow_insecure=request.allow_insecure,
                tell=lambda words: request.say("warning", words),
            )
            store = await open_redis(address.url(), request.name, request.rules, how)
            try:
                if is_alone:
                    await notes.restart_worker_numbers()
                if identity is None:
                    identity = new_identity().encode()
                    await notes.put(IDENTITY_NOTE, identity)
                messages = _Messages(notes)
                await messages.read()
                yield RedisCrawl(
                    store=store,
                    address=request.address,
                    where=where,
                    identity=identity.decode(),
                    new_worker=notes.new_worker,
                    keep=lead.keep,
                    messages=messages.read,
                    reader=partial(reading_at, notes.nodes, address, request.name),
                    leadership=notes,
                )
            finally:
                await store.close()
        finally:
            await lead.give_up()


class IdleRedisCrawl(msgspec.Struct, frozen=True):
    """A crawl in Redis that nobody coordinates but this process, which does not go on with it."""

    keep: Callable[[], Coroutine[Any, Any, None]]
    notes: CrawlNotes

    async def add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        """Append records to the log of results, and store the note; the server's clock counts."""
        await self.notes.add_replayed(replayed)


@asynccontextmanager
async def open_idle_redis_crawl(request: IdleRequest) -> AsyncIterator[IdleRedisCrawl]:
    """Keep others from coordinating a crawl."""
    address = parse_address(request.address.url)
    async with CrawlNotes(address, request.name) as notes:
        where = f"the crawl {request.name} in {address}"
        lead = _Lead(notes, where, request.say, "wait until it has ended")
        await lead.take()
        try:
            yield IdleRedisCrawl(lead.keep, notes)
        finally:
            await lead.give_up()


async def _is_alone(notes: CrawlNotes, request: OpenRequest) -> bool:
    """Tell whether no worker is alive; one that was heard of lately gets time for a sign."""
    first = await notes.silence_s()
    quiet_s = min(first.values(), default=SILENT_S)
    if quiet_s < SILENT_S:
        request.say("info", "checking whether workers of this crawl are alive")
        await asyncio.sleep(SILENT_S - quiet_s)
    now = await notes.silence_s()
    return all(silence >= SILENT_S for silence in now.values())


@asynccontextmanager
async def join_redis_crawl(address: StoreAddress, name: str) -> AsyncIterator[RedisStore]:
    """Open a crawl that another process coordinates; the server was checked by that one."""
    how = Opening(is_checked=True, tell=LOG.warning)
    store = await open_redis(parse_address(address.url).url(), name, None, how)
    try:
        yield store
    finally:
        await store.close()
