"""What a page costs a crawl in Redis, while ten thousand to a million URLs are known.

Run by `make bench-redis`; it takes some minutes, 2 GB and servers of its own. This process is the
frontier of a made-up web (growing_web.py): its CPU is measured, and that of the server. At every
size the store takes turns with a fresh one of ten thousand URLs on a server beside it: how fast the
machine is changes from minute to minute, and the two change together. The tables go to the
terminal, the picture with --draw to docs/redis-cost.svg. The run fails where a page costs much more
among the most URLs than in the small store of the same seconds.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from benchmarks.growing_web import RULES, GrowingCrawl
from benchmarks.own_redis import own_redis
from benchmarks.redis_cost import Cost, CostPair, Memory, cost_table, joined, memory_table, picture
from benchmarks.redis_figures import bytes_by_kind, commands, used_bytes, used_cpu_s
from redis.asyncio import Redis

from gossamer.frontier.service import Frontier
from gossamer.stores.bodies import BodyReference, ContentPacker
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows

CRAWL = "bench"
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
TURNS, PAGES_IN_A_TURN = 4, 1000
COMMIT_EVERY = 50
"""Pages: about what a fast crawl settles between two commits."""
DISCOVERED_AT_ONCE = 10_000
MOST_GROWTH = 1.3
"""How much more a page may cost among the most URLs than in the small store."""
DURABLE = ("appendonly yes", "appendfsync everysec")
ROOT = Path(__file__).parent.parent
SITE = Path(os.environ.get("GOSSAMER_DOCS") or ROOT / ".cache" / "docs" / "site")
PICTURE = ROOT / "docs" / "redis-cost.svg"


class RedisBench:
    """One server with one crawl in it."""

    def __init__(self, client: Redis, crawl: GrowingCrawl[Frontier]) -> None:
        self.client = client
        self.crawl = crawl

    @classmethod
    async def begin(cls, url: str, bodies: Sequence[bytes], stack: AsyncExitStack) -> Self:
        """Start over on a server; the stack closes what is opened."""
        client = await stack.enter_async_context(Redis.from_url(url))
        await client.flushall()
        rows = RedisRows(parse_address(url), CRAWL)
        rows.take_lead()
        store = Frontier(rows, RULES, time.time())
        stack.push_async_callback(store.close)
        return cls(client, GrowingCrawl(store, bodies))

    async def discover(self, known: int) -> float:
        """Have so many URLs known; return the memory for each."""
        before, bytes_before = self.crawl.known, await used_bytes(self.client)
        while self.crawl.known < known:
            await self.crawl.discover(min(self.crawl.known + DISCOVERED_AT_ONCE, known))
            await self.crawl.store.commit()
        return (await used_bytes(self.client) - bytes_before) / (known - before)

    async def visit(self, known: int) -> Cost:
        """Crawl some pages."""
        crawl, client = self.crawl, self.client
        bytes_before, pages_before = await used_bytes(client), crawl.pages
        commands_before, server_s = await commands(client), await used_cpu_s(client)
        frontier_s = time.process_time()
        while crawl.pages < pages_before + PAGES_IN_A_TURN:
            await crawl.visit(COMMIT_EVERY)
            await crawl.store.commit()
        pages = crawl.pages - pages_before
        return Cost(
            known=known,
            pages=pages,
            frontier_s=time.process_time() - frontier_s,
            server_s=await used_cpu_s(client) - server_s,
            page_bytes=(await used_bytes(client) - bytes_before) / pages,
            commands=(await commands(client) - commands_before) / pages,
        )


def real_bodies() -> list[bytes]:
    """Return the pages of a manual as the store keeps them."""
    files = sorted(SITE.glob("*.html"))
    if not files:
        raise SystemExit("no documentation site: run 'make bench-redis', which fetches it")
    pack = ContentPacker().pack
    return [pack(file.read_bytes()) for file in files]


async def beside(
    bench: RedisBench, known: int, other_url: str, bodies: Sequence[bytes]
) -> CostPair:
    """Have so many URLs known, then crawl in turn with a fresh small store."""
    started = time.perf_counter()
    url_bytes = await bench.discover(known)
    print(f"  {known:,} URLs known, {time.perf_counter() - started:.0f} s", flush=True)
    async with AsyncExitStack() as stack:
        other = await RedisBench.begin(other_url, bodies, stack)
        await other.discover(SIZES[0])
        large, small = list[Cost](), list[Cost]()
        for _ in range(TURNS):
            large.append(await bench.visit(known))
            small.append(await other.visit(SIZES[0]))
    return CostPair(joined(large), joined(small), url_bytes)


async def measure(
    url: str, other_url: str, sizes: Sequence[int], kept: Sequence[bytes] = ()
) -> tuple[list[CostPair], Memory]:
    """Measure at every size, in one store that grows; `kept` is kept there instead of bodies."""
    bodies = real_bodies()
    async with AsyncExitStack() as stack:
        bench = await RedisBench.begin(url, kept or bodies, stack)
        pairs = [await beside(bench, known, other_url, bodies) for known in sizes]
        kinds = await bytes_by_kind(bench.client, CRAWL)
        return pairs, Memory(kinds, bench.crawl.known, bench.crawl.pages)


def show(pairs: Sequence[CostPair], memory: Memory, durable: CostPair, apart: CostPair) -> None:
    """Print what was found out."""
    print("\n" + cost_table(pairs), end="\n\n")
    lean, full = apart.cost, apart.small
    print(
        f"without bodies {lean.server_us:.0f} µs of the server's CPU for a page, with them "
        f"{full.server_us:.0f} µs in the same seconds: {lean.server_us / full.server_us:.2f} x, "
        f"and {lean.page_bytes:,.0f} bytes instead of {full.page_bytes:,.0f} for a page and its "
        "new URLs",
        end="\n\n",
    )
    with_file, without = durable.cost.server_us, durable.small.server_us
    print(
        f"with an append-only file {with_file:.0f} µs of the server's CPU for a page, without "
        f"{without:.0f} µs in the same seconds: {with_file / without:.2f} x",
        end="\n\n",
    )
    print(memory_table(memory), end="\n\n")
    for pair in pairs:
        print(
            f"{pair.cost.known:,} known: {pair.url_bytes:,.0f} bytes more for a URL, "
            f"{pair.cost.page_bytes:,.0f} for a page and its new URLs"
        )


def main() -> int:
    """Measure, print, draw, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="how many URLs at most")
    parser.add_argument("--draw", action="store_true", help="write the picture")
    given = parser.parse_args()
    sizes = [size for size in SIZES if size <= given.most]
    with own_redis() as other_url:
        with own_redis(*DURABLE) as url:
            (durable,), _ = asyncio.run(measure(url, other_url, sizes[:1]))
        with own_redis() as url:
            reference = BodyReference("0-0123456789ab-1", 10**7, 4000, 2**63).pack()
            (apart,), _ = asyncio.run(measure(url, other_url, sizes[:1], [reference]))
        with own_redis() as url:
            pairs, memory = asyncio.run(measure(url, other_url, sizes))
    show(pairs, memory, durable, apart)
    if given.draw:
        PICTURE.write_text(picture(pairs), encoding="utf-8")
    growth = pairs[-1].growth()["both"]
    print(f"\namong {sizes[-1]:,} URLs a page costs {growth:.2f} x (at most {MOST_GROWTH})")
    return 1 if growth > MOST_GROWTH else 0


if __name__ == "__main__":
    raise SystemExit(main())
