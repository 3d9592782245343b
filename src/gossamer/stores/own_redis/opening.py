"""Opening a crawl that has a Redis of its own: to coordinate it, to read it, or to take part."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.embedded.directory import CrawlDirectory, find_crawl, is_locked
from gossamer.stores.opening import IdleRequest, OpenRequest
from gossamer.stores.own_redis.folder import OwnFolder, is_own_redis
from gossamer.stores.own_redis.server import find_program, running_server
from gossamer.stores.reading import ReadRequest
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.counters import pack_counters, read_counters
from gossamer.stores.redis.crawl_client import CrawlClient, crawl_names
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.opening import (
    IdleRedisCrawl,
    RedisCrawl,
    open_idle_redis_crawl,
    open_redis_crawl,
)
from gossamer.stores.redis.reader import RedisReader, open_redis_reader
from gossamer.stores.rules import StoreRules

FREE_WITHIN_S = 60.0
"""How long another command that reads the crawl, or a server that ends, is waited for."""
LEAVE_WITHIN_S = 5.0
CHECK_EVERY_S = 0.05
ROLES = ("coordinator", "frontier")
"""What another process may have been when it was killed."""


@asynccontextmanager
async def open_own_redis_crawl(request: OpenRequest) -> AsyncIterator[RedisCrawl]:
    """Start the server and open the crawl there; it stops when the crawl is closed."""
    program = find_program()  # before anything is made
    with CrawlDirectory(request.directory) as directory:
        if directory.database.exists():
            raise UsageError(
                f"{directory.path} holds a crawl in a file ({directory.database.name}): leave out "
                "--store redis:, or name another directory with --dir"
            )
        folder = OwnFolder(directory.path)
        folder.make()
        lock = await _await_lock(folder)
        is_sound = folder.in_order.exists() and not request.fresh
        if request.fresh:
            folder.clear()
        async with running_server(folder, lock, program) as address:
            await _prepare(address, request.name, directory.path, is_sound=is_sound)
            there = msgspec.structs.replace(request, address=shared(address), fresh=False)
            async with open_redis_crawl(there) as crawl:
                yield msgspec.structs.replace(
                    crawl, where=str(directory.path), worker_lock=directory.worker_lock
                )
                is_over = await crawl.store.ended_by() is not None
            if is_over:
                await _see_others_off(address)


@asynccontextmanager
async def open_idle_own_redis_crawl(request: IdleRequest) -> AsyncIterator[IdleRedisCrawl]:
    """Start the server, and keep others from coordinating the crawl there."""
    with CrawlDirectory(request.directory) as directory:
        folder = OwnFolder(directory.path)
        lock = await _await_lock(folder)
        is_sound = folder.in_order.exists()
        async with running_server(folder, lock) as address:
            await _prepare(address, request.name, directory.path, is_sound=is_sound)
            there = msgspec.structs.replace(request, address=shared(address))
            async with open_idle_redis_crawl(there) as crawl:
                yield crawl


async def _prepare(address: RedisAddress, name: str, directory: Path, *, is_sound: bool) -> None:
    """Refuse another crawl; forget who coordinated it, as the lock of the directory is ours.

    If the last server has lost nothing and all workers have ended in order, nobody can be asking
    a host at this moment: then none needs a rest because this is another server.
    """
    if others := {*await crawl_names(Nodes(address))} - {name}:
        raise UsageError(
            f"{directory} holds the crawl {min(others)}: give the same seed or --name, name "
            "another directory with --dir, or start over with --fresh"
        )
    async with connect(address) as client:
        await client.delete(*(f"{key(name, 'leader')}{role}" for role in ROLES))
        if is_sound and not await client.zcount(key(name, "seen"), "(0", "+inf"):
            counts = await read_counters(CrawlClient(client, name))
            await client.set(key(name, "counts"), pack_counters({**counts, "server": 0}))


async def _see_others_off(address: RedisAddress) -> None:
    """Let those who take part in the crawl learn that it is over, before the server is gone."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + LEAVE_WITHIN_S
    async with connect(address) as client:
        while loop.time() < give_up_at:
            if len(await client.client_list()) == 1:
                return
            await asyncio.sleep(CHECK_EVERY_S)


async def _await_lock(folder: OwnFolder) -> int:
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + FREE_WITHIN_S
    while (lock := folder.try_lock()) is None:
        if loop.time() >= give_up_at:
            raise CrawlError(
                f"another process has used the Redis in {folder.path} for {FREE_WITHIN_S:g} s: "
                "wait until it has ended"
            )
        await asyncio.sleep(CHECK_EVERY_S)
    return lock


@asynccontextmanager
async def open_own_redis_reader(request: ReadRequest) -> AsyncIterator[RedisReader]:
    """Read a crawl, from the server that runs, or from one that is started for that."""
    directory = find_crawl(request.directory, Path())
    if not is_own_redis(directory):
        raise UsageError(f"there is no crawl with a Redis of its own in {directory}")
    async with reachable_server(directory) as (address, is_running):
        there = msgspec.structs.replace(request, address=shared(address), directory=directory)
        async with open_redis_reader(there) as reader:
            reader.where = str(directory)
            if not is_running:
                reader.rules = _with_nobody_alive(reader.rules)
            yield reader


def _with_nobody_alive(rules: StoreRules) -> StoreRules:
    """Return the rules of a crawl whose workers are dead, however short ago they were seen."""
    scheduler = msgspec.structs.replace(rules.scheduler, lease_s=0.0)
    return msgspec.structs.replace(rules, scheduler=scheduler)


@asynccontextmanager
async def reachable_server(directory: Path) -> AsyncIterator[tuple[RedisAddress, bool]]:
    """Give the server of a crawl, and whether that is running; else it is started for this time."""
    folder = OwnFolder(directory)
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + FREE_WITHIN_S
    while loop.time() < give_up_at:
        if (address := await find_running(directory)) is not None:
            yield address, True
            return
        if (lock := folder.try_lock()) is not None:
            async with running_server(folder, lock, only_read=True) as address:
                yield address, False
            return
        await asyncio.sleep(CHECK_EVERY_S)
    raise CrawlError(f"the Redis in {folder.path} is in use and does not answer: see {folder.log}")


async def await_running(directory: Path) -> RedisAddress | None:
    """Return the server of a crawl that is running, or is about to; None: none is."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + FREE_WITHIN_S
    while (address := await find_running(directory)) is None:
        if not is_locked(directory) or loop.time() >= give_up_at:
            return None
        await asyncio.sleep(CHECK_EVERY_S)
    return address


async def find_running(directory: Path) -> RedisAddress | None:
    """Return the server of a crawl that is running; None: none is, or it is not ready."""
    socket = OwnFolder(directory).socket()
    if socket is None or not is_locked(directory):
        return None
    address = RedisAddress(socket=str(socket))
    try:
        async with asyncio.timeout(1.0), connect(address) as client:
            await client.ping()
    except Exception:  # noqa: BLE001 -- whatever it is, it does not answer
        return None
    return address


def shared(address: RedisAddress) -> StoreAddress:
    """Return the address of the server for those who do not care who has started it."""
    return StoreAddress("redis", url=address.url())
