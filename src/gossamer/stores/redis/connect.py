"""The ways to a crawl in Redis: to work on it, to stand by for its lead, and to read it."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Final, Literal, TypeVar

import msgspec

from gossamer.config import StoreAddress
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.reader import Presence, RowsReader, explained
from gossamer.stores.reading import ReadRequest
from gossamer.stores.reconnect import Absence, StoreAwayError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import check, require
from gossamer.stores.redis.connection import Nodes
from gossamer.stores.redis.crawls import find_crawl_name
from gossamer.stores.redis.row_reads import RedisRowReads
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import RESTS_NOTE

log = logging.getLogger("gossamer.store")

Say = Callable[[Literal["info", "warning"], str], None]
T = TypeVar("T")

JOINED_NOTE: Final = "joined"
"""The note of who has joined: what a process is called in queues -> the number of its worker."""
CLOCK_QUESTIONS: Final = 5
"""How often a server is asked for the time: the quickest answer counts."""
CHECK_EVERY_S: Final = 0.1
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


async def _reached(attempt: Callable[[], T], say: Say) -> T:
    """Return what an attempt does, which is made again while the server is away, for a minute."""
    absence = Absence(partial(say, "warning"))
    while True:
        try:
            return await asyncio.to_thread(attempt)
        except StoreAwayError as error:
            absence.note(error)
        await asyncio.sleep(CHECK_EVERY_S)


# -- to work on it -------------------------------------------------------------------------------


async def checked_address(
    store: StoreAddress, name: str, say: Say, *, allow_insecure: bool = False
) -> RedisAddress:
    """Return the address of a server that is fit for crawls; a CrawlError says why it is not."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name for a crawl in the store: use letters, digits, '.', "
            "'_' and '-', at most 100"
        )
    address = parse_address(store.url)

    def checked() -> list[str]:
        findings = require(check(address, allow_insecure=allow_insecure), address)
        return [f"The store {address}: {finding}." for finding in findings]

    for words in await _reached(checked, say):
        say("warning", words)
    return address


@asynccontextmanager
async def open_rows(
    address: RedisAddress, name: str, say: Say, role: str = ""
) -> AsyncIterator[RedisRows]:
    """Connect to the rows of a crawl, waiting for a server that is away just now."""
    make = partial(RedisRows, address, name, tell=partial(say, "warning"), role=role)
    rows = await _reached(make, say)
    try:
        yield rows
    finally:
        rows.close()


async def put_note(store: StoreAddress, crawl: str, name: str, value: bytes) -> None:
    """Store a note that the frontier of a crawl never writes, whoever that is."""
    rows = await asyncio.to_thread(RedisRows, parse_address(store.url), crawl)
    try:
        await asyncio.to_thread(rows.put_note, name, value)
    finally:
        rows.close()


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


# -- to stand by for its lead --------------------------------------------------------------------


@asynccontextmanager
async def stand_by(
    address: RedisAddress, name: str, role: str, say: Say, stopped: asyncio.Event
) -> AsyncIterator[RedisRows | None]:
    """Wait until this process has the lead of a crawl that has begun; None: it was stopped."""
    async with open_rows(address, name, say, role) as rows:
        yield rows if await _await_lead(rows, stopped) else None


async def _await_lead(rows: RedisRows, stopped: asyncio.Event) -> bool:
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


# -- to read it ----------------------------------------------------------------------------------


@asynccontextmanager
async def open_redis_reader(
    request: ReadRequest, *, may_be_led: bool = True
) -> AsyncIterator[RowsReader]:
    """Connect to a crawl to read it; no lead is taken, nothing is written, nobody is disturbed.

    If it cannot be led by anybody, a lead that stands there is that of a process that has died.
    """
    address = parse_address(request.address.url)
    name = await asyncio.to_thread(find_crawl_name, address, request.name)
    async with _reading(request, name, Nodes(address), may_be_led=may_be_led) as reader:
        yield reader


def reopening_redis_reader(
    request: ReadRequest,
) -> Callable[[], AbstractAsyncContextManager[RowsReader]]:
    """Return what connects to a crawl, at any server that it has learnt of by then."""
    assert request.name is not None
    return partial(_reading, request, request.name, Nodes(parse_address(request.address.url)))


@asynccontextmanager
async def _reading(
    request: ReadRequest, name: str, nodes: Nodes, *, may_be_led: bool = True
) -> AsyncIterator[RowsReader]:
    rows = RedisRowReads(parse_address(request.address.url), name, tell=log.warning, nodes=nodes)
    executor = ThreadPoolExecutor(1, "gossamer-reader")

    async def run(work: Callable[[], T], /) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, work)

    try:
        await run(rows.open)
        with explained(rows, rows.where):
            yield RowsReader(
                rows,
                partial(_presence, rows, may_be_led=may_be_led),
                where=rows.where,
                name=name,
                directory=request.directory,
                run=run,
            )
    finally:
        rows.close()  # what waits for the server gives up
        executor.shutdown(wait=False, cancel_futures=True)


def _presence(rows: RedisRowReads, *, may_be_led: bool) -> Presence:
    """Return who works on a crawl: a process closes it before it lets go of the lead."""
    holder = rows.holder() if may_be_led else None
    closed, rests = rows.read_metadata(["closed", RESTS_NOTE])
    running = holder is not None and closed != b"yes"
    now = rows.server_time()
    resting_s = float(rests) - now if running and rests else 0.0
    return Presence(
        running=running,
        closed=closed == b"yes",
        led_by=str(holder) if running else None,
        standbys=tuple(map(str, rows.standbys())) if may_be_led else (),
        now=now,
        resting_s=max(0.0, resting_s),
    )
