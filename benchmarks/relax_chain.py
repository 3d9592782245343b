"""How long one step holds the event loop while a long chain of pages comes nearer.

Run by hand: `PYTHONPATH=.:tools python benchmarks/relax_chain.py [pages]`. A chain of a million
pages, each of which links to the next, is written into a file and into a Redis of its own; then its
second page becomes a seed, and so everything behind it comes one step nearer. Commits are made as
often as a crawl makes them. The longest step is in CPU time of its thread, for a machine that
others use as well. Over Redis a step also waits for the links that it reads: how much of the clock
all steps took is printed, too, and what they cost the server.
"""

import asyncio
import hashlib
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from benchmarks.own_redis import own_redis
from benchmarks.redis_figures import used_cpu_s
from redis.asyncio import Redis

from gossamer.coordinator.engine import COMMIT_EVERY_S
from gossamer.frontier.contract import Link
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.service import Frontier
from gossamer.model import HostKey, Outcome, Url
from gossamer.model.page import NO_ATTRIBUTES
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Changes, HostRow, PageRow, Rows, UrlRow, pack_links
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import Attempt, UrlState

CRAWL, HOST = "chain", "chain.test"
RULES = FrontierRules(max_pages=10**9, max_bytes=10**15, similarity=None)
NOW = 1_000_000.0
WRITTEN_AT_ONCE = 2000
_FETCHED = Attempt(at=NOW, outcome=Outcome.FETCHED, cause=None, detail="", status=200)


class Steps(msgspec.Struct, frozen=True):
    """What it took to bring the chain nearer."""

    count: int
    clock_s: float
    """In all, with commits."""
    step_cpu_s: Sequence[float]
    """CPU of each step, the shortest first."""
    step_clock_s: float
    """In all, without commits."""


def key(number: int) -> bytes:
    return hashlib.blake2b(b"%d" % number, digest_size=16).digest()


def url(number: int) -> Url:
    return Url(f"http://{HOST}/{number}")


def write_chain(rows: Rows, pages: int) -> None:
    """Write a finished crawl of a chain, numbered from 1, and let go of the rows."""
    assert list(rows.known_urls()) == []
    for first in range(1, pages + 1, WRITTEN_AT_ONCE):
        changes = Changes()
        changes.hosts[1] = HostRow(id=1, key=HostKey(HOST), domain=HOST, urls=pages)
        for number in range(first, min(first + WRITTEN_AT_ONCE, pages + 1)):
            _add_page(changes, number, is_last=number == pages)
        finish = rows.write(changes)
        if finish is not None:
            finish()
    rows.close()


def _add_page(changes: Changes, number: int, *, is_last: bool) -> None:
    """Add a page that was fetched, and the link to the next one."""
    depth, parent = number - 1, number - 1 or None
    row = UrlRow(number, url(number), key(number), 1, UrlState.DONE, depth, 0, parent, NOW)
    row.score, row.queue, row.outcome, row.page = 0.0, 0, Outcome.FETCHED, number
    row.finished_at, row.attempts = NOW, 1
    changes.urls[number] = row
    changes.attempts[number] = [_FETCHED]
    changes.pages[number] = PageRow(number, number, 0, key(number), NO_ATTRIBUTES, NOW, depth)
    if not is_last:
        changes.links[number] = pack_links([number + 1])


async def shorten(store: Frontier) -> Steps:
    """Bring the chain nearer, as a frontier does."""
    link = Link(url(2), key(2), HostKey(HOST), HOST)
    cpu_s, clock_s = list[float](), 0.0
    await store.join(0, NOW)
    begun = commit_at = time.perf_counter()
    is_relaxing = True
    while is_relaxing:
        started, cpu = time.perf_counter(), time.thread_time()
        if not cpu_s:
            await store.add_seeds([link], NOW)
        else:
            await store.route([[0]] * 8, NOW)
        cpu_s.append(time.thread_time() - cpu)
        clock_s += time.perf_counter() - started
        is_relaxing = (await store.snapshot(NOW)).relaxing
        if time.perf_counter() >= commit_at:
            await store.commit()
            commit_at = time.perf_counter() + COMMIT_EVERY_S
    await store.commit()
    took_s = time.perf_counter() - begun
    return Steps(len(cpu_s), took_s, sorted(cpu_s), clock_s)


async def measure(rows: Rows) -> Steps:
    """Load the chain, and bring it nearer."""
    store = Frontier(rows, RULES, NOW)
    steps = await shorten(store)
    await store.close()
    return steps


def redis_rows(address: RedisAddress) -> RedisRows:
    """Return the rows of the chain, with the lead."""
    rows = RedisRows(address, CRAWL)
    rows.take_lead()
    return rows


async def server_cpu_s(address: RedisAddress) -> float:
    """Return how much CPU the server has used."""
    async with Redis.from_url(address.url()) as client:
        return await used_cpu_s(client)


def show(where: str, steps: Steps) -> None:
    """Print what the steps took."""
    took = steps.step_cpu_s
    print(
        f"{where}: {steps.count} steps in {steps.clock_s:.1f} s with commits, "
        f"{steps.step_clock_s:.1f} s without; the longest {1000 * took[-1]:.1f} ms of CPU, "
        f"99.9 % under {1000 * took[int(len(took) * 0.999)]:.1f} ms, half under "
        f"{1000 * took[len(took) // 2]:.1f} ms",
        flush=True,
    )


def main() -> None:
    """Measure both stores."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.sqlite"
        write_chain(SqliteRows(path), pages)
        show("file", asyncio.run(measure(SqliteRows(path))))
    with own_redis("appendonly yes", "appendfsync everysec") as redis_url:
        address = parse_address(redis_url)
        write_chain(redis_rows(address), pages)
        with closing(redis_rows(address)) as rows:
            before = asyncio.run(server_cpu_s(address))
            steps = asyncio.run(measure(rows))
        show("Redis", steps)
        cpu_s = asyncio.run(server_cpu_s(address)) - before
        print(f"  {1000 * cpu_s / steps.count:.2f} ms of the server's CPU a step, with loading")


if __name__ == "__main__":
    main()
