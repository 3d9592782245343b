"""Brings a crawl out of the tables of a file into Redis, so that it goes on there.

What was assigned or in progress waits again. No host has a state in a ring: those with something to
do are parked until their moment, from where the router fetches them. While the copy is under way
nobody can open the crawl: its rules, which come last, are a placeholder until then.
"""

import sqlite3
from collections.abc import Callable

from gossamer.errors import CrawlError
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis.client import connect
from gossamer.stores.redis.crawl_client import CrawlClient, crawl_client
from gossamer.stores.redis.keys import REGISTRY
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.rules import StoreRules
from gossamer.transfer.restoration import Notes, Restoration


async def restore(
    connection: sqlite3.Connection,
    nodes: Nodes,
    crawl: str,
    rules: StoreRules,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> None:
    """Write the crawl that a connection sees into Redis, where there is none of that name.

    `tell` hears of how many URLs so many are written.
    """
    async with crawl_client(nodes, crawl) as target:
        if not await target.client.set(target.key("rules"), stored.PLACEHOLDER, nx=True):
            raise CrawlError(f"the store has a crawl with the name {crawl} already")
        await _write(connection, target, rules, tell)
        async with connect(await nodes.find(REGISTRY)) as registrar:
            await registrar.sadd(REGISTRY, crawl)
        await target.client.set(target.key("rules"), stored.write(rules))


async def _write(
    connection: sqlite3.Connection,
    target: CrawlClient,
    rules: StoreRules,
    tell: Callable[[int, int], None],
) -> None:
    notes = Notes.read(connection)
    (total,) = connection.execute("SELECT count(*) FROM urls").fetchone()
    done = 0
    work = Restoration(connection, target, rules)
    async for written in work.urls():
        done += written
        tell(done, total)
    await work.hosts()
    await work.pages()
    await work.bodies()
    await work.numbers()
    await work.marks()
    await work.counters(notes)
    if notes.own:
        await target.client.hset(target.key("notes"), mapping=dict(notes.own.items()))
