"""Whether the store answers, and whether somebody plays a role."""

from typing import Literal

from gossamer.cluster.frontier_role import ROLE
from gossamer.cluster.membership import find_shared_crawl
from gossamer.config import CrawlOptions
from gossamer.errors import CrawlError
from gossamer.stores.opening import OPTIONS_NOTE
from gossamer.stores.redis.notes import CrawlNotes

SILENT_S = 15.0
"""A worker that lives is heard of many times in this."""


async def check_health(
    own: CrawlOptions, role: Literal["frontier", "worker"] | None, number: int | None = None
) -> str:
    """Return in a sentence that all is well; raise `CrawlError` if it is not."""
    address, name = await find_shared_crawl(own)
    async with CrawlNotes(address, name) as notes:
        if await notes.get(OPTIONS_NOTE) is None:
            # Roles may be started before the crawl: they wait for it, in good health.
            return f"{address} answers; the crawl {name} has not begun"
        if role == "frontier":
            return await _frontier(notes, name)
        if role == "worker" or number is not None:
            return await _worker(notes, name, number)
    return f"{address} answers, and holds the crawl {name}"


async def _frontier(notes: CrawlNotes, name: str) -> str:
    if not await notes.is_led(ROLE):
        raise CrawlError(f"nobody is the frontier of the crawl {name}")
    return f"the crawl {name} has a frontier"


async def _worker(notes: CrawlNotes, name: str, number: int | None) -> str:
    silence_s = await notes.silence_s()
    alive = sorted(worker for worker, silent_s in silence_s.items() if silent_s < SILENT_S)
    if number is None and alive:
        return f"the crawl {name} has {len(alive)} worker{'' if len(alive) == 1 else 's'}"
    if number in alive:
        return f"worker {number} of the crawl {name} was heard of {silence_s[number]:.1f} s ago"
    who = "no worker" if number is None else f"worker {number}"
    was = "was" if number is None else "was not"
    raise CrawlError(f"{who} of the crawl {name} {was} heard of in the last {SILENT_S:g} s")
