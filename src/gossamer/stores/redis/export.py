"""Copies a crawl out of Redis into tables, while others work on it.

Each part is copied as it is at one moment (`export_part`). A divided crawl has several parts, and
no moment that could be seen on all of them. So they are caught up with together, again and again,
until their moments fit: no part has taken in a message that its sender had not sent by then. Then
everything that is there came from something that is there: the parent of a URL was visited, and
links to it. What was sent and is not taken in is `on_the_way`: a link that leads nowhere so far, or
a shorter path that its target has not heard of.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.ledger import StoreRules
from gossamer.stores.redis.branches import Branches
from gossamer.stores.redis.carrier import Carrier
from gossamer.stores.redis.export_part import WATCH_S, PartCopy, Parts, copy_bands
from gossamer.stores.redis.export_state import CopiedCrawl, PartState, in_step, whole

EVERYTHING = Parts(links=True, bodies=True, sketches=True)
MOST_ROUNDS = 100


async def export(
    branches: Branches,
    rules: StoreRules,
    connection: sqlite3.Connection,
    wanted: Parts = EVERYTHING,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> CopiedCrawl:
    """Copy a crawl into the empty tables of a connection; return how it is with the crawl.

    `tell` hears of how many URLs so many are copied.
    """
    carrier = Carrier(connection, rules.desk.queues, len(branches.parts))
    copies = [PartCopy(part, branches.centre, carrier, wanted) for part in branches.parts]
    telling = await _telling(branches, tell)
    watching = asyncio.create_task(_stay(copies))
    try:
        await asyncio.gather(*[copy.begin(telling) for copy in copies])
        states = await _catch_up(copies, must_fit=wanted.links)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    for copy in copies:
        await copy.end(rules.desk.delay_s)
    if wanted.sketches:
        await copy_bands(branches.centre, carrier)
    first = branches.parts[0]
    notes: Any = await first.client.hgetall(first.key("notes"))
    unreadable = [words for copy in copies for words in copy.unreadable]
    misplaced = [words for copy in copies for words in copy.misplaced]
    state = whole(states, rules, notes, unreadable, misplaced)
    lost = carrier.finish(state.untold, state.notes)
    if state.is_closed:  # the workers to which they were dealt are gone
        connection.execute("UPDATE urls SET place = 1 WHERE place = 2")
    return msgspec.structs.replace(state, lost_links=lost)


async def _stay(copies: Sequence[PartCopy]) -> None:
    """Have changes noted also of a part that is copied and waits for the others."""
    while True:
        await asyncio.sleep(WATCH_S / 4)
        for copy in copies:
            await copy.stay()


async def _catch_up(copies: Sequence[PartCopy], *, must_fit: bool) -> list[PartState]:
    """Return how it is with each part at its moment; links are of use only where moments fit."""
    for _ in range(MOST_ROUNDS):
        states = await asyncio.gather(*[copy.catch_up() for copy in copies])
        if in_step(states) or not must_fit:
            return states
    raise CrawlError(
        "the partitions change too fast to be seen as they are together: try again, or when the "
        "crawl has stopped"
    )


async def _telling(branches: Branches, tell: Callable[[int, int], None]) -> Callable[[int], None]:
    counted = [await part.client.hget(part.key("counts"), "urls") for part in branches.parts]
    total, done = sum(int(one or 0) for one in counted), 0

    def more(urls: int) -> None:
        nonlocal done
        done += urls
        tell(min(done, total), total)

    return more
