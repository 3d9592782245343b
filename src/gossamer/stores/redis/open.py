"""Opens a crawl in Redis: new, to take part in it, or to continue where others have left it."""

import logging
import re
import time
from collections.abc import Callable
from typing import Literal

import msgspec
from redis import exceptions
from redis.asyncio.connection import AbstractConnection

from gossamer.errors import CrawlError, UsageError
from gossamer.stores.ledger import StoreRules
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.branches import Branch, read_rules, to_branches
from gossamer.stores.redis.centre import Centre
from gossamer.stores.redis.checks import require
from gossamer.stores.redis.client import CONNECT_S, connect, connection_to
from gossamer.stores.redis.courier import PATIENCE_S, Courier
from gossamer.stores.redis.divided import DividedStore
from gossamer.stores.redis.divided_reader import DividedReader
from gossamer.stores.redis.keys import CENTRE, NAMES, REGISTRY, key, prefix
from gossamer.stores.redis.no_answer import explain
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.part import Part
from gossamer.stores.redis.partitions import check_partitions
from gossamer.stores.redis.probe import check
from gossamer.stores.redis.reader import RedisReader
from gossamer.stores.redis.rules import StoredRules
from gossamer.stores.redis.store import RedisStore

log = logging.getLogger("gossamer.store")

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl is opened."""

    take_over: bool = False
    """Nobody else is at work: what others have left waits again at once."""
    clock: Literal["server", "given"] = "server"
    """Whose time counts: the server's, or what the callers of the store say (for tests)."""
    now: float | None = None
    """When it is opened, by the caller's clock; None: now."""
    patience_s: float = PATIENCE_S
    """How long a server that does not answer is waited for, before the crawl is given up."""
    allow_insecure: bool = False
    """A server elsewhere may do without password and TLS."""
    is_checked: bool = False
    """The server was asked before whether it is fit for a crawl."""
    partitions: int | None = None
    """Into how many a new crawl is divided; None: not at all, or as it is."""
    tell: Callable[[str], None] = log.warning
    """Who is told what people should know."""


SharedStore = RedisStore | DividedStore
"""The store of a crawl that is shared, whole or divided."""

TAKE_PART = Opening()
"""Work beside others, by the server's clock."""


async def open_redis(
    url: str, crawl: str, rules: StoreRules | None, how: Opening = TAKE_PART
) -> RedisStore:
    """Return the store of a crawl that is not divided, or as `open_shared`."""
    store = await open_shared(url, crawl, rules, how)
    if isinstance(store, DividedStore):
        await store.let_go()
        raise CrawlError(f"the crawl {crawl} is divided into partitions")
    return store


async def open_shared(
    url: str, crawl: str, rules: StoreRules | None, how: Opening = TAKE_PART
) -> SharedStore:
    """Return the store of a crawl; a CrawlError says why there is none.

    The first process lays the rules down for all of them. Who comes later brings the same, or none;
    who takes over may lay down others.
    """
    if not NAME.fullmatch(crawl):
        raise UsageError(
            f"{crawl!r} is no name for a crawl in the store: write letters, digits, '.', '_', '-'"
        )
    check_partitions(how.partitions or 1)
    address = parse_address(url)
    if not how.is_checked:
        findings = await check(address, allow_insecure=how.allow_insecure)
        for finding in require(findings, address):
            how.tell(f"The store {address}: {finding}.")
    nodes = Nodes(address)
    try:
        before, agreed = await _agree(nodes, crawl, rules, how)
    except (exceptions.RedisError, OSError) as error:
        raise CrawlError(str(explain(error, address, CONNECT_S))) from error
    now = time.time() if how.now is None else how.now
    if agreed.partitions == 1:
        courier = _courier(nodes, prefix(crawl), how)
        courier.rules = stored.for_scripts(agreed.rules, given=how.clock == "given")
        parts = [RedisStore(courier, agreed.rules, now)]
        store: SharedStore = parts[0]
    else:
        store = _open_divided(nodes, crawl, agreed, how, now)
        parts = [*store.parts]
    if how.take_over:
        try:
            for part in parts:
                await part.take_over((before or agreed).rules.desk.queues, stored.write(agreed))
            if isinstance(store, DividedStore):
                await store.deliver_left(now)
        except BaseException:
            await store.let_go()
            raise
    return store


def _open_divided(
    nodes: Nodes, crawl: str, agreed: StoredRules, how: Opening, now: float
) -> DividedStore:
    couriers: list[Courier] = []
    for partition in [*range(agreed.partitions), CENTRE]:
        courier = _courier(nodes, prefix(crawl, partition), how)
        courier.rules = stored.for_scripts(
            agreed.rules,
            given=how.clock == "given",
            partitions=agreed.partitions,
            partition=len(couriers),
        )
        couriers.append(courier)
    *own, last = couriers
    parts = [Part(courier, agreed.rules, now) for courier in own]
    return DividedStore(parts, Centre(last, now), agreed.rules, now)


def _courier(nodes: Nodes, start: str, how: Opening) -> Courier:
    async def find() -> AbstractConnection:
        return await nodes.connection(start)

    return Courier(connection_to(nodes.first), start, how.patience_s, how.tell, find)


async def _agree(
    nodes: Nodes, crawl: str, rules: StoreRules | None, how: Opening
) -> tuple[StoredRules | None, StoredRules]:
    """Return what was laid down before, if anything, and what holds from now on.

    Other rules are laid down by the script with which a crawl is taken over.
    """
    name = key(crawl, "rules")
    async with connect(await nodes.find(name)) as client:
        laid_down = await client.get(name)
        if laid_down is None and rules is not None:
            new = StoredRules(rules=rules, partitions=how.partitions or 1)
            if await client.set(name, stored.write(new), nx=True):
                async with connect(await nodes.find(REGISTRY)) as registrar:
                    await registrar.sadd(REGISTRY, crawl)
                return None, new
            laid_down = await client.get(name)
    if not isinstance(laid_down, bytes):
        raise CrawlError(f"the store has no crawl with the name {crawl}")
    before = stored.read(laid_down, crawl)
    if how.partitions not in {None, before.partitions}:
        raise UsageError(
            f"the crawl {crawl} has {before.partitions} partitions, which cannot be changed: give "
            "the same number, or choose another name"
        )
    if rules is None or rules == before.rules:
        return before, before
    if not how.take_over:
        raise CrawlError(
            f"the crawl {crawl} goes on with other limits or another pace: take part with the "
            "same, or end it first"
        )
    return before, msgspec.structs.replace(before, rules=rules)


async def open_reader(address: RedisAddress, crawl: str) -> RedisReader | DividedReader:
    """Return a way to look at a crawl, whoever works on it."""
    nodes = Nodes(address)
    try:
        found = await read_rules(nodes, crawl)
        if found is None:
            raise CrawlError(f"the store {address} has no crawl with the name {crawl}")
        count, queues = found.partitions, found.rules.desk.queues
        clients = [connect(await nodes.find(prefix(crawl, part))) for part in range(count)]
    except (exceptions.RedisError, OSError) as error:
        raise CrawlError(str(explain(error, address, CONNECT_S))) from error
    parts = [
        RedisReader(Branch(one, crawl, part, count), queues) for part, one in enumerate(clients)
    ]
    return parts[0] if count == 1 else DividedReader(parts)


async def delete_crawl(address: RedisAddress, crawl: str) -> None:
    """Delete all that there is of a crawl, without holding others up."""
    nodes = Nodes(address)
    try:
        async with connect(await nodes.find(REGISTRY)) as client:
            await client.srem(REGISTRY, crawl)
        async with connect(await nodes.find(prefix(crawl))) as client:
            laid_down = await client.get(key(crawl, "rules"))
        async with to_branches(nodes, crawl, stored.partitions_of(laid_down, crawl)) as branches:
            for branch in reversed(branches.all):  # the first says how many there are
                await branch.client.unlink(*map(branch.key, NAMES))
                matching = f"{branch.prefix}*"
                async for name in branch.client.scan_iter(match=matching, count=1000):
                    await branch.client.unlink(name)
    except (exceptions.RedisError, OSError) as error:
        raise CrawlError(str(explain(error, address, CONNECT_S))) from error
