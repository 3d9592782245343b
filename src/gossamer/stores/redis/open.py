"""Opening a crawl in Redis: a new one, one to take part in, or one to take over."""

import logging
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Literal

import msgspec

from gossamer.errors import CrawlError, UsageError
from gossamer.stores.away import PATIENCE_S
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import require
from gossamer.stores.redis.crawl_client import crawl_client, read_rules
from gossamer.stores.redis.keys import NAMES, REGISTRY, prefix
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.probe import check
from gossamer.stores.redis.script_client import ScriptClient
from gossamer.stores.redis.store import RedisStore
from gossamer.stores.rules import StoreRules

log = logging.getLogger("gossamer.store")

DELETED_AT_ONCE = 1000
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl is opened."""

    take_over: bool = False
    """Nobody else is at work: what others have left in progress is queued again at once."""
    clock: Literal["server", "given"] = "server"
    """Which clock counts: the server's, or that of the store's callers (for tests)."""
    now: float | None = None
    """When it is opened, by the caller's clock; None: now."""
    patience_s: float = PATIENCE_S
    """How long to wait for a server that does not answer before the crawl is given up."""
    allow_insecure: bool = False
    """A server on another machine may do without a password and TLS."""
    is_checked: bool = False
    """The server has been checked already."""
    tell: Callable[[str], None] = log.warning
    """Takes the warnings about the server."""


TAKE_PART = Opening()
"""Work beside others, by the server's clock."""


def check_name(crawl: str) -> None:
    """Refuse what cannot be the name of a crawl in a shared store."""
    if not _NAME.fullmatch(crawl):
        raise UsageError(
            f"{crawl!r} is not a valid name for a crawl in the store: use letters, digits, '.', "
            "'_' and '-', at most 100"
        )


async def open_redis(
    url: str, crawl: str, rules: StoreRules | None, how: Opening = TAKE_PART
) -> RedisStore:
    """Return the store of a crawl; a CrawlError says why there is none.

    The first process lays down the rules for all of them. Those that come later bring the same, or
    none; one that takes over may lay down others.
    """
    check_name(crawl)
    address = parse_address(url)
    if not how.is_checked:
        findings = await check(address, allow_insecure=how.allow_insecure)
        for finding in require(findings, address):
            how.tell(f"The store {address}: {finding}.")
    nodes = Nodes(address)
    async with explained(address):
        before, agreed = await _agree(nodes, crawl, rules, how)
        find = partial(nodes.connection, prefix(crawl))
        first = await find()
    script_client = ScriptClient(first, prefix(crawl), how.patience_s, how.tell, find)
    script_client.rules = stored.for_scripts(agreed, given=how.clock == "given")
    store = RedisStore(script_client, agreed, time.time() if how.now is None else how.now)
    if how.take_over:
        try:
            await store.take_over((before or agreed).scheduler.queues, stored.write(agreed))
        except BaseException:
            await store.let_go()
            raise
    return store


async def _agree(
    nodes: Nodes, crawl: str, rules: StoreRules | None, how: Opening
) -> tuple[StoreRules | None, StoreRules]:
    """Return the rules that were laid down before, if any, and those that hold from now on.

    Other rules are laid down by the step that takes a crawl over.
    """
    async with crawl_client(nodes, crawl) as target:
        before = await read_rules(target)
        if before is None and rules is not None:
            if await target.client.set(target.key("rules"), stored.write(rules), nx=True):
                async with connect(await nodes.find(REGISTRY)) as registrar:
                    await registrar.sadd(REGISTRY, crawl)
                return None, rules
            before = await read_rules(target)
    if before is None:
        raise CrawlError(
            f"the store has no crawl with the name {crawl}: 'gossamer crawls' lists those there"
        )
    if rules is None or rules == before:
        return before, before
    if not how.take_over:
        raise CrawlError(
            f"the crawl {crawl} runs with other limits or another pace: join it with the same "
            "options, or stop it first"
        )
    return before, rules


async def delete_crawl(address: RedisAddress, crawl: str) -> None:
    """Delete everything of a crawl, in small steps that hold up nobody else.

    Without its rules nobody can open it any more; its name goes last, so that what was broken off
    can be found and deleted.
    """
    nodes = Nodes(address)
    async with explained(address):
        async with crawl_client(nodes, crawl) as target:
            await target.client.unlink(target.key("rules"))
            await target.client.unlink(*map(target.key, NAMES))
            cursor = None
            while cursor != 0:
                cursor, names = await target.client.scan(
                    cursor or 0, match=f"{target.prefix}*", count=DELETED_AT_ONCE
                )
                if names:
                    await target.client.unlink(*names)
        async with connect(await nodes.find(REGISTRY)) as client:
            await client.srem(REGISTRY, crawl)
