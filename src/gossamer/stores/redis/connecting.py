"""Connecting to the rows of a crawl in Redis: which server may have them, and by which clock."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Literal

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.away import PATIENCE_S, StoreAwayError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import require
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.probe import check
from gossamer.stores.redis.row_keys import REGISTRY
from gossamer.stores.redis.rows import RedisRows

Say = Callable[[Literal["info", "warning"], str], None]

JOINED_NOTE = "joined"
"""The note of who has joined: what a process is called in queues -> the number of its worker."""
CLOCK_QUESTIONS = 5
"""How often a server is asked for the time: the quickest answer counts."""
CHECK_EVERY_S = 0.1
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def check_name(crawl: str) -> None:
    """Refuse what cannot be the name of a crawl in a shared store."""
    if not _NAME.fullmatch(crawl):
        raise UsageError(
            f"{crawl!r} is not a valid name for a crawl in the store: use letters, digits, '.', "
            "'_' and '-', at most 100"
        )


@asynccontextmanager
async def open_rows(
    address: RedisAddress, name: str, say: Say, role: str = ""
) -> AsyncIterator[RedisRows]:
    """Connect to the rows of a crawl, waiting for a server that is away just now."""
    tell = partial(say, "warning")
    make = partial(RedisRows, address, name, tell=tell, role=role)
    give_up_at, is_told = time.monotonic() + PATIENCE_S, False
    while True:
        try:
            rows = await asyncio.to_thread(make)
            break
        except StoreAwayError as error:
            if time.monotonic() >= give_up_at or not is_told:
                raise
            is_told = True
            tell(str(error))
        await asyncio.sleep(CHECK_EVERY_S)
    try:
        yield rows
    finally:
        rows.close()


async def checked_address(
    store: StoreAddress, name: str, say: Say, *, allow_insecure: bool = False
) -> RedisAddress:
    """Return the address of a server that is fit for crawls; a CrawlError says why it is not."""
    check_name(name)
    address = parse_address(store.url)
    for finding in require(await check(address, allow_insecure=allow_insecure), address):
        say("warning", f"The store {address}: {finding}.")
    return address


def clock_offset_s(rows: RedisRows, *, leads: bool) -> float:
    """Return how far the clock of the server is before the steady one of this machine.

    All processes of a crawl go by it. How long the answer was on its way is not known: a worker
    is a little ahead for that, and a frontier behind. So no request that a worker has made ended
    later than the frontier takes it to have, whichever that is by then, and none begins too soon.
    """
    offsets = []
    for _ in range(CLOCK_QUESTIONS):
        asked_at = time.monotonic()
        now, answered_at = rows.server_time(), time.monotonic()
        offsets.append((answered_at - asked_at, now - (answered_at if leads else asked_at)))
    return min(offsets)[1]


def read_joined(note: bytes | None) -> dict[str, int | None]:
    """Return who has joined, as it is noted."""
    return {} if note is None else msgspec.msgpack.decode(note, type=dict[str, int | None])


async def register(address: RedisAddress, name: str) -> None:
    """Have the name of a crawl listed."""
    nodes = Nodes(address)
    async with explained(address), connect(await nodes.find(REGISTRY)) as registrar:
        await registrar.sadd(REGISTRY, name)


# -- beside the coordinator ----------------------------------------------------------------------


@asynccontextmanager
async def stand_by(
    address: RedisAddress, name: str, role: str, say: Say, stopped: asyncio.Event
) -> AsyncIterator[RedisRows | None]:
    """Wait until this process has the lead of a crawl that has begun; None: it was stopped."""
    async with open_rows(address, name, say, role) as rows:
        yield rows if await _stand_by(rows, stopped) else None


async def _stand_by(rows: RedisRows, stopped: asyncio.Event) -> bool:
    since, say_at = await asyncio.to_thread(rows.server_time), 0.0
    try:
        while not stopped.is_set():
            wanted = await asyncio.to_thread(rows.is_lead_wanted)
            if not wanted and await asyncio.to_thread(rows.try_to_lead):
                return True
            if time.monotonic() >= say_at:
                await asyncio.to_thread(rows.stand_by, since)
                say_at = time.monotonic() + 1.0
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), CHECK_EVERY_S)
        return False
    finally:
        with suppress(CrawlError):
            await asyncio.to_thread(rows.end_stand_by)


async def put_note(store: StoreAddress, crawl: str, name: str, value: bytes) -> None:
    """Store a note that the frontier of a crawl never writes, whoever that is."""
    rows = await asyncio.to_thread(RedisRows, parse_address(store.url), crawl)
    try:
        await asyncio.to_thread(rows.put_note, name, value)
    finally:
        rows.close()
