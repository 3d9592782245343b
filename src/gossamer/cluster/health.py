"""Whether the store answers, and whether somebody plays a role."""

import asyncio
from typing import Literal

from gossamer.cluster.join import find_shared_crawl
from gossamer.config import CrawlOptions
from gossamer.errors import CrawlError
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.stores.redis.connecting import JOINED_NOTE, read_joined
from gossamer.stores.redis.lead import LeadHolder
from gossamer.stores.redis.message_queues import alive
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.views import WORKERS_NOTE, read_workers

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
        if OPTIONS_NOTE not in metadata:
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
    joined = read_joined(metadata.get(JOINED_NOTE))
    signs = rows.are_there([alive(one) for one in joined])
    numbers = {
        number
        for number, lives in zip(joined.values(), signs, strict=True)
        if lives and number is not None
    }
    note = metadata.get(WORKERS_NOTE)
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
