"""Joining a crawl that is in the store already, from any machine."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Final, Literal

import msgspec

from gossamer.channel.channel import PROTOCOL
from gossamer.channel.queues import Hello, QueueClient
from gossamer.config import IN_DIRECTORY, CrawlOptions, StoreAddress
from gossamer.coordinator.plan import Plan, unpack_options
from gossamer.coordinator.processes.worker_client import Listener
from gossamer.coordinator.processes.worker_config import (
    JOINED_CONTRACTS,
    JOINING,
    Joining,
    Level,
    SteadyClock,
)
from gossamer.frontier.contract import FRONTIER, FrontierClient
from gossamer.model import Event
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.directory import find_crawl
from gossamer.stores.files import IDENTITY_NAME
from gossamer.stores.reading import WORKERS_NAME, read_workers
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.crawls import find_crawl_name
from gossamer.stores.redis.lead import LeadHolder
from gossamer.stores.redis.message_queues import JoinedQueues, heartbeat
from gossamer.stores.redis.own_server import await_running
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.redis.rows import (
    JOINED_NAME,
    RedisRows,
    checked_address,
    clock_offset_s,
    open_rows,
    read_joined,
)
from gossamer.stores.registry import address_in
from gossamer.stores.rows import OPTIONS_NAME

SILENT_S = 15.0
"""A worker that lives is heard of many times in this."""


async def check_health(
    own: CrawlOptions, role: Literal["frontier", "worker"] | None, number: int | None = None
) -> str:
    """Return in a sentence that all is well; raise `CrawlError` if it is not."""
    address, name = await find_shared_crawl(own)
    rows = await asyncio.to_thread(RedisRows, address, name)
    return await asyncio.to_thread(_check, rows, str(address), name, role, number)


def _check(
    rows: RedisRows,
    address: str,
    name: str,
    role: Literal["frontier", "worker"] | None,
    number: int | None,
) -> str:
    try:
        metadata = rows.metadata()
        if OPTIONS_NAME not in metadata:
            # Roles may be started before the crawl: they wait for it, in good health.
            return f"{address} answers; the crawl {name} has not begun"
        if role == "frontier":
            return _frontier(rows.holder(), rows.standbys(), name)
        if role == "worker" or number is not None:
            return _worker(_living_workers(rows, metadata), name, number)
        return f"{address} answers, and holds the crawl {name}"
    finally:
        rows.close()


def _living_workers(rows: RedisRows, metadata: dict[str, bytes]) -> set[int]:
    """Return the numbers of those that have joined and live, and of those the frontier hears of."""
    joined = read_joined(metadata.get(JOINED_NAME))
    signs = rows.messages_exist([heartbeat(one) for one in joined])
    numbers = {
        number
        for number, lives in zip(joined.values(), signs, strict=True)
        if lives and number is not None
    }
    note = metadata.get(WORKERS_NAME)
    views = [] if note is None else read_workers(note, rows.server_time())
    return numbers | {view.number for view in views if view.silent_s < SILENT_S}


def _frontier(holder: LeadHolder | None, standbys: list[LeadHolder], name: str) -> str:
    if holder is None and not standbys:
        raise CrawlError(f"nobody is the frontier of the crawl {name}")
    return f"the crawl {name} has a frontier"


def _worker(numbers: set[int], name: str, number: int | None) -> str:
    if number is None and numbers:
        return f"the crawl {name} has {len(numbers)} worker{'' if len(numbers) == 1 else 's'}"
    if number in numbers:
        return f"worker {number} of the crawl {name} is alive"
    who = "no worker" if number is None else f"worker {number}"
    was = "is" if number is None else "is not"
    raise CrawlError(f"{who} of the crawl {name} {was} alive")


PATIENCE_S: Final = 60.0
"""How long a process waits for a crawl that is not there yet: it may have been started first."""
ASK_EVERY_S: Final = 0.2
CLOSE_WITHIN_S: Final = 2.0


class Membership(msgspec.Struct, frozen=True):
    """What a process needs to take part."""

    plan: Plan
    client: QueueClient
    """Its end of the queues to the frontier."""
    store: FrontierClient
    frontier: Joining
    clock: SteadyClock
    metadata: dict[str, bytes]
    identity: str
    rows: RedisRows

    async def is_led(self) -> bool:
        """Tell whether a process leads it; a CrawlError if it is not there any more."""
        if not await asyncio.to_thread(self.rows.exists):
            raise CrawlError(
                f"the crawl {self.plan.name} is not in the store any more: it was deleted, or the "
                "server has lost its data"
            )
        return await asyncio.to_thread(self.rows.holder) is not None


class MemberLog:
    """A listener that also sends warnings and errors to the frontier."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.client: QueueClient | None = None
        self.role = "a process"
        """What this process is in the crawl."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""
        self._listener.event(event)

    def say(self, level: Level, message: str, **fields: str | float) -> None:
        """Take a message."""
        self._listener.say(level, message, **fields)
        if level != "info":
            self.send(level, message)

    def send(self, level: Literal["warning", "error"], words: str) -> None:
        """Send a message to the frontier, without waiting for it."""
        if self.client is not None:
            who = f"{self.role} on {socket.gethostname()}"
            self.client.notify(JOINING.methods["say"], level, who, words)


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
    return address, await asyncio.to_thread(find_crawl_name, address, None)


async def _own_server(options: CrawlOptions) -> RedisAddress:
    directory = find_crawl(options.dir, Path())
    address = await await_running(directory)
    if address is None:
        raise CrawlError(
            f"no crawl with a Redis of its own is running in {directory}: begin it there with "
            "gossamer crawl … --store redis:"
        )
    return address


@asynccontextmanager
async def found_crawl(
    own: CrawlOptions, say: Callable[[Level, str], None]
) -> AsyncIterator[tuple[RedisAddress, RedisRows, Plan, dict[str, bytes]]]:
    """Find a crawl, waiting for it to begin; `own` says where it is and what it is called."""
    address, name = await find_shared_crawl(own)
    store = StoreAddress("redis", url=address.url())
    own = replace(own, store=store, name=name)
    await checked_address(store, name, say, allow_insecure=own.insecure_store)
    async with open_rows(address, name, say) as rows:
        metadata = await _metadata(rows, name, address, say)
        yield address, rows, Plan(unpack_options(metadata[OPTIONS_NAME], own)), metadata


async def _metadata(
    rows: RedisRows, name: str, address: RedisAddress, say: Callable[[Level, str], None]
) -> dict[str, bytes]:
    """Return what is stored with the crawl as soon as it has begun."""
    give_up_at, is_said = time.monotonic() + PATIENCE_S, False
    while True:
        await asyncio.to_thread(rows.exists)
        metadata = await asyncio.to_thread(rows.metadata)
        if OPTIONS_NAME in metadata:
            return metadata
        if not is_said:
            is_said = True
            say("info", f"waiting for the crawl {name} to begin")
        if time.monotonic() >= give_up_at:
            raise CrawlError(
                f"there is no crawl {name} in {address}: begin it with gossamer crawl, or see "
                "whether the name is right"
            )
        await asyncio.sleep(ASK_EVERY_S)


@asynccontextmanager
async def join_crawl(own: CrawlOptions, log: MemberLog) -> AsyncIterator[Membership]:
    """Take part in a crawl."""
    async with found_crawl(own, log.say) as (address, rows, plan, metadata):
        clock = SteadyClock(await asyncio.to_thread(clock_offset_s, rows, leads=False))
        client, queues = open_client(address, plan.name, None, partial(log.say, "warning"))
        log.client = client
        try:
            yield Membership(
                plan=plan,
                client=client,
                store=FRONTIER.proxy(client),
                frontier=JOINING.proxy(client),
                clock=clock,
                metadata=metadata,
                identity=metadata.get(IDENTITY_NAME, b"").decode(),
                rows=rows,
            )
        except CrawlError as error:
            log.send("error", str(error))
            raise
        finally:
            await client.close(CLOSE_WITHIN_S)
            await queues.close()


def open_client(
    address: RedisAddress,
    crawl: str,
    worker: int | None,
    tell: Callable[[str], None],
) -> tuple[QueueClient, JoinedQueues]:
    """Open the queues of a process to the frontier of a crawl."""
    kind = "command" if worker is None else f"worker-{worker}"
    queues = JoinedQueues(address, RowKeys(crawl), f"{kind}-{token_hex(4)}", tell)
    return QueueClient(JOINED_CONTRACTS, queues, Hello(PROTOCOL, worker)), queues
