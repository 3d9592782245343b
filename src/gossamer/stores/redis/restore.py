"""Brings a crawl out of the tables of a file into Redis, whole, so that it goes on there.

What was dealt or in work waits again. No host has a place in a ring: those with something to do are
parked until their moment, from where the router fetches them. While the copy is under way nobody
can open the crawl: its rules, which come last, are a placeholder that is none. It may be divided:
then the tables are as well (`tables`), and what there is once goes to the centre.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from redis.asyncio.client import Pipeline

from gossamer.errors import CrawlError
from gossamer.stores.redis import rules as stored
from gossamer.stores.redis import tables
from gossamer.stores.redis.branches import Branch, Branches, to_branches
from gossamer.stores.redis.client import connect
from gossamer.stores.redis.keys import REGISTRY
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.records import NOBODY, name_of, write_page
from gossamer.stores.redis.restore_part import Fields, Notes, PartRestoration, milliseconds
from gossamer.stores.redis.rules import StoredRules

MARKS_AT_ONCE = 50
NUMBERS_AT_ONCE = 2000
BAND_BYTES = 8


async def restore(
    connection: sqlite3.Connection,
    nodes: Nodes,
    crawl: str,
    rules: StoredRules,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> None:
    """Write the crawl that a connection sees into Redis, where there is none of that name.

    `tell` hears of how many URLs so many are written.
    """
    async with to_branches(nodes, crawl, rules.partitions) as branches:
        first = branches.parts[0]
        under_way = stored.placeholder(rules.partitions)
        if not await first.client.set(first.key("rules"), under_way, nx=True):
            raise CrawlError(f"the store has a crawl with the name {crawl} already")
        await _write(connection, branches, rules, tell)
        async with connect(await nodes.find(REGISTRY)) as registrar:
            await registrar.sadd(REGISTRY, crawl)
        await first.client.set(first.key("rules"), stored.write(rules))


async def _write(
    connection: sqlite3.Connection,
    branches: Branches,
    rules: StoredRules,
    tell: Callable[[int, int], None],
) -> None:
    tables.divide(connection, rules.partitions)
    targets = tables.Targets(connection)
    notes = Notes.read(connection)
    (total,) = connection.execute("SELECT count(*) FROM urls").fetchone()
    done = 0
    for branch in branches.parts:
        work = PartRestoration(connection, branch, rules.rules, targets)
        async for written in work.urls():
            done += written
            tell(done, total)
        await work.hosts()
        await work.pages()
        await work.bodies()
        await work.counters(notes)
    await _Centre(connection, branches, rules).write()
    if notes.own:
        first = branches.parts[0]
        await first.client.hset(first.key("notes"), mapping=dict(notes.own.items()))


class _Centre:
    """Numbers, contents and budgets, of which there is one truth."""

    def __init__(
        self, connection: sqlite3.Connection, branches: Branches, rules: StoredRules
    ) -> None:
        self._db = connection
        self._branches = branches
        self._centre: Branch = branches.centre
        self._rules = rules.rules

    async def write(self) -> None:
        last = await self._numbers()
        await self._marks()
        client, key = self._centre.client, self._centre.key
        await client.hset(key("counts"), "page", str(last))
        if self._branches.is_divided:
            await self._budget()

    async def _numbers(self) -> int:
        """Write whose the numbers are, and which are free; return the last."""
        client, key = self._centre.client, self._centre.key
        last = 0
        rows = self._db.execute(
            "SELECT pages.id, fetched_at, number FROM pages "
            "CROSS JOIN moved ON moved.id = pages.url ORDER BY pages.id"
        )
        for some in tables.portions(rows, NUMBERS_AT_ONCE):
            free: list[int] = []
            for number, _, _ in some:
                free += range(last + 1, number)
                last = number
            if free:
                await client.zadd(key("free"), {str(number): number for number in free})
            if self._branches.is_divided:
                owners: Fields = {str(n): write_page(at, url_id, b"") for n, at, url_id in some}
                await client.hset(key("pages"), mapping=owners)
        return last

    async def _marks(self) -> None:
        """Write digests and sketches, each for the rest of its time."""
        seconds, micros = await self._centre.client.time()
        now = seconds + micros / 1e6
        kept = tables.marks(self._db, now - self._rules.ttl_s)
        for some in tables.portions(kept, MARKS_AT_ONCE):
            async with self._centre.client.pipeline(transaction=False) as pipe:
                for mark in some:
                    left_s = mark.fetched_at + self._rules.ttl_s - now
                    self._write_mark(pipe, mark, milliseconds(left_s))
                await pipe.execute()

    def _write_mark(self, pipe: Pipeline, page: tables.TableMark, left_ms: int) -> None:
        key = self._centre.key
        kept = write_page(page.fetched_at, page.id, NOBODY)
        pipe.set(key("digest").encode() + page.digest, kept, px=left_ms)
        if page.sample is None or page.bands is None:
            return
        pipe.set(f"{key('sample')}{page.id}", NOBODY + page.sample, px=left_ms)
        longest = milliseconds(self._rules.ttl_s + self._rules.desk.lease_s)
        for at in range(0, len(page.bands), BAND_BYTES):
            position = bytes([(at // BAND_BYTES + 1) % 256])
            name = key("band").encode() + position + page.bands[at : at + BAND_BYTES]
            pipe.append(name, name_of(page.id))
            pipe.pexpire(name, longest)

    async def _budget(self) -> None:
        """Write what partitions have used, which the centre would else take for nothing."""
        told: Fields = {}
        sums = {"pages": 0, "bytes": 0}
        for part in self._branches.parts:
            found: Any = await part.client.hmget(part.key("counts"), [*sums])
            for name, value in zip(sums, found, strict=True):
                told[f"{name}:{part.number}"] = value
                sums[name] += int(value)
        await self._centre.client.hset(self._centre.key("budget"), mapping=told)
        await self._centre.client.hset(self._centre.key("counts"), mapping=dict(sums.items()))
