"""Whether the partitions of a divided crawl agree with each other and with the centre.

Where a URL lies, and that links lead somewhere, is looked at always. All else is compared only
where nobody works: two parts have no moment in common, and while a crawl runs something is always
on its way. After a crash it may still be; where a crawl is over, nothing is.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec

from gossamer.stores.redis.branches import Branch, Branches
from gossamer.stores.redis.export_state import CopiedCrawl, PartState
from gossamer.stores.redis.records import PAGE

AT_ONCE = 1000
_NUMBER_BYTES = 5

_LOST = "SELECT url FROM urls WHERE id = ?"
_PAGES = "SELECT pages.id, number FROM pages CROSS JOIN origins ON origins.id = pages.url"


class CentreState(msgspec.Struct, frozen=True, kw_only=True):
    """What the centre knows of the partitions."""

    counts: Mapping[str, int]
    free: set[int]
    """The numbers that nobody has."""
    pages: Mapping[int, int]
    """Whose the numbers are: page and URL."""
    claims: Mapping[int, int]
    """Which numbers are claimed: URL and page."""
    claimants: set[int]
    """The URLs of which it has not heard how their lease ended."""
    budget: Mapping[str, int]
    received: Mapping[int, int]


async def discords(
    branches: Branches, connection: sqlite3.Connection, state: CopiedCrawl
) -> list[str]:
    """Return what is wrong between the parts, in sentences; the crawl was copied before."""
    on_the_way = state.on_the_way()
    found = [*state.misplaced]
    for link in state.lost_links:
        if (link.sender, link.receiver) not in on_the_way:
            (url,) = connection.execute(_LOST, (link.url,)).fetchone()
            found.append(f"{url} links to a URL that partition {link.receiver} does not know")
    if state.is_running:
        return found
    centre = await _ask(branches.centre)
    left = [words async for words in _undelivered(branches, state, centre)]
    if state.is_over:
        found += left
        found += [f"a claim of URL {one} is left at the centre" for one in sorted(centre.claimants)]
    if not left:
        pages: dict[int, int] = dict(connection.execute(_PAGES))
        found += _misnumbered(pages, centre)
    known = {number for (number,) in connection.execute("SELECT number FROM origins")}
    for url_id in sorted((centre.claimants | centre.claims.keys()) - known):
        found.append(f"the centre has a claim of URL {url_id}, which no partition knows")
    found += _misspent(state.parts, centre)
    return found


def _misnumbered(pages: Mapping[int, int], centre: CentreState) -> Iterator[str]:
    """Yield what the centre says of pages, and they do not; no message is on its way."""
    claimed = set(centre.claims.values())
    for number in sorted((pages.keys() | centre.pages.keys()) - claimed):
        mine, theirs = centre.pages.get(number), pages.get(number)
        if mine != theirs:
            yield f"page {number} is {_whose(mine)} at the centre, and {_whose(theirs)}"
    given = pages.keys() | claimed
    last = centre.counts.get("page", 0)
    if (highest := max(given | centre.free, default=0)) > last:
        yield f"the centre has given numbers up to {last}, and there is a {highest}"
    for number in sorted(set(range(1, last + 1)) - given - centre.free):
        yield f"the number {number} was given by the centre, and nobody has it"
    for number in sorted(given & centre.free):
        yield f"the number {number} is taken, and free at the centre"


def _whose(url_id: int | None) -> str:
    return "of nobody" if url_id is None else f"of URL {url_id}"


def _misspent(parts: list[PartState], centre: CentreState) -> Iterator[str]:
    """Yield where more was reported to the centre than there is, or granted than it knows."""
    for name in ("pages", "bytes"):
        reported = sum(centre.budget.get(f"{name}:{part}", 0) for part in range(len(parts)))
        if centre.counts.get(name, 0) != reported:
            counted = centre.counts.get(name, 0)
            yield f"the centre counts {counted} {name}, and was told of {reported}"
    for number, part in enumerate(parts):
        for name in ("spent", "pages", "bytes"):
            told, there = centre.budget.get(f"{name}:{number}", 0), part.counts.get(name, 0)
            if told > there:
                yield f"{name}: {told} told to the centre, {there:g} in partition {number}"
        granted = centre.budget.get(f"granted:{number}", 0)
        if part.counts.get("granted", 0) > granted:
            has = part.counts["granted"]
            yield f"granted: {granted} by the centre, {has:g} in partition {number}"


async def _undelivered(
    branches: Branches, state: CopiedCrawl, centre: CentreState
) -> AsyncIterator[str]:
    """Yield what lies in outboxes and was not taken in."""
    received = [*[part.received for part in state.parts], centre.received]
    names = [*[f"partition {number}" for number in range(len(state.parts))], "the centre"]
    for sender in branches.all:
        for number, name in enumerate(names):
            last = received[number].get(sender.number, 0)
            outbox = f"{sender.key('outbox')}{number}"
            if count := await sender.client.zcount(outbox, f"({last}", "+inf"):
                yield f"messages of {names[sender.number]} for {name} not delivered: {count}"


async def _ask(centre: Branch) -> CentreState:
    client, key = centre.client, centre.key
    async with client.pipeline(transaction=True) as pipe:
        for name in ("counts", "budget", "received", "claims"):
            pipe.hgetall(key(name))
        pipe.zrange(key("free"), 0, -1)
        pipe.zrange(key("claimants"), 0, -1)
        counts, budget, received, claims, free, claimants = await pipe.execute()
    return CentreState(
        counts={name.decode(): int(float(value)) for name, value in counts.items()},
        free={*map(int, free)},
        pages={number: url_id async for number, url_id in _pages(centre)},
        claims={int(url_id): _number(packed) for url_id, packed in claims.items()},
        claimants={*map(int, claimants)},
        budget={name.decode(): int(value) for name, value in budget.items()},
        received={int(sender): int(number) for sender, number in received.items()},
    )


async def _pages(centre: Branch) -> AsyncIterator[tuple[int, int]]:
    cursor = 0
    while True:
        answer: Any = await centre.client.hscan(centre.key("pages"), cursor, count=AT_ONCE)
        cursor, found = answer
        for number, packed in found.items():
            yield int(number), int.from_bytes(PAGE.unpack_from(packed)[1], "big")
        if not cursor:
            return


def _number(claim: bytes) -> int:
    return int.from_bytes(claim[:_NUMBER_BYTES], "big")
