"""How fast one worker crawls over a Redis, beside a crawl in a file, and two beside one.

Run by `make bench-redis`. The pages are those of a real manual, served over loopback: once as one
site, once as several hosts with the same pages. Everybody crawls in turn. The tables show the
fastest run of each; how fast one is beside another is the median over the turns, for how fast the
machine is changes within minutes, and what runs one after the other meets about the same.

Server, Redis, frontier, workers and the readers of pages share the cores of this machine; two
workers can only be faster than one where some are free. So these are also compared where no core is
short: each answer takes a while, as on the web, and each worker may have few connections. To one
site there are more of them than a crawl in a file needs: a page takes longer on its way to a Redis
and back, though not more of anybody's time.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import msgspec
from benchmarks.docs_server import Server, serve
from benchmarks.idle import QUIET, idle_share
from benchmarks.own_redis import own_redis
from benchmarks.peers.counting import COMMAND
from benchmarks.peers.measuring import ENVIRONMENT
from benchmarks.redis_figures import bytes_by_kind, used_cpu_s
from redis.asyncio import Redis

TURNS = 5
HOSTS = 6
WANTED_RATIO = 0.7
"""How fast a worker with a Redis is at least, beside a crawl in a file, once both are at work; and
how many pages it has for a second of CPU, that of the Redis included."""
WANTED_SCALING = 1.7
"""How fast two workers are at least, beside one, where no core is short."""
ANSWER_MS, CONNECTIONS, SLOW_PAGES = 80, 8, 1_000
COMMON = ("--quiet", "--delay", "0s", "--max-bytes", "1GB")
ALL = ("--max-pages", "100000")
CRAWL = "bench"


class CrawlSetting(msgspec.Struct, frozen=True):
    """What is crawled: the seeds, and the options that go with them."""

    name: str
    words: Sequence[str]
    connections: int = 100
    """How many each worker has."""


class StoreCrawler(msgspec.Struct, frozen=True):
    """One way to crawl; without workers with a crawl in a file."""

    name: str
    workers: int = 0


class SharedRun(msgspec.Struct, frozen=True):
    """What one crawl took."""

    pages: int
    wall_s: float
    """From the start of the command to its end."""
    work_s: float
    """From the first page to the last."""
    cpu_s: float
    """CPU of the command and all that it started."""
    store_s: float
    """CPU of the Redis meanwhile."""

    @property
    def pages_per_s(self) -> float:
        return (self.pages - 1) / self.work_s

    @property
    def pages_per_cpu_s(self) -> float:
        return self.pages / (self.cpu_s + self.store_s)


def one_site(server: Server) -> CrawlSetting:
    return CrawlSetting("one site", (server.url, "--host-connections", "32", *ALL))


def many_hosts(server: Server) -> CrawlSetting:
    seeds = [f"http://h{one}.localhost:{server.port}/index.html" for one in range(HOSTS)]
    # All hosts have the same pages: none of them is to be dropped for that.
    own = ("--similarity", "off", "--allow-network", "127.0.0.1/32", "--allow-network", "::1/128")
    return CrawlSetting(f"{HOSTS} hosts", (*seeds, *own, "--host-connections", "4", *ALL))


def slow_hosts(server: Server) -> CrawlSetting:
    words = many_hosts(server).words[: -len(ALL)]
    limits = ("--max-pages", f"{SLOW_PAGES}")
    return CrawlSetting(f"{ANSWER_MS} ms an answer", (*words, *limits), CONNECTIONS)


def crawl_once(crawler: StoreCrawler, setting: CrawlSetting, store: str) -> SharedRun:
    """Crawl from nothing."""
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        own, place = ["--dir", f"{name}/crawl"], ["--dir", f"{name}/crawl"]
        if crawler.workers:
            place = ["--store", store, "--name", CRAWL]
            connections = setting.connections * crawler.workers
            own += [*place, "--workers", str(crawler.workers), "--fresh"]
            own += ["--connections", str(connections)]
        store_before_s = asyncio.run(empty(store))
        command = [COMMAND, "crawl", *setting.words, *own, *COMMON]
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=name, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{crawler.name} failed with exit code {process.returncode}")
        cpu_s = usage.ru_utime + usage.ru_stime
        store_s = asyncio.run(used_s(store)) - store_before_s if crawler.workers else 0.0
        listed = subprocess.run(
            [COMMAND, "pages", *place, "--json"], stdout=subprocess.PIPE, text=True, check=True
        )
    moments = [float(json.loads(line)["fetched_at"]) for line in listed.stdout.splitlines()]
    return SharedRun(len(moments), wall_s, max(moments) - min(moments), cpu_s, store_s)


async def empty(store: str) -> float:
    """Empty the server; return how much CPU it has used so far."""
    async with Redis.from_url(store) as client:
        await client.flushall()
    return await used_s(store)


async def used_s(store: str) -> float:
    """Return how much CPU the server has used."""
    async with Redis.from_url(store) as client:
        return await used_cpu_s(client)


Runs = dict[str, list[SharedRun]]
"""What was measured, turn for turn, by the name of who crawled."""


def compare(
    crawlers: Sequence[StoreCrawler], setting: CrawlSetting, store: str, turns: int
) -> Runs:
    """Let everybody crawl in turn."""
    runs: Runs = {crawler.name: [] for crawler in crawlers}
    for _ in range(turns):
        for crawler in crawlers:
            run = crawl_once(crawler, setting, store)
            print(
                f"  {setting.name}, {crawler.name}: {run.pages_per_s:,.0f} pages/s, "
                f"{run.wall_s:.1f} s in all",
                flush=True,
            )
            runs[crawler.name].append(run)
    return runs


def beside(runs: Runs, one: StoreCrawler, other: StoreCrawler) -> float:
    """Return how many times as fast one is as the other."""
    pairs = zip(runs[one.name], runs[other.name], strict=True)
    return statistics.median(ours.pages_per_s / theirs.pages_per_s for ours, theirs in pairs)


def beside_by_cpu(runs: Runs, one: StoreCrawler, other: StoreCrawler) -> float:
    """Return how many times as many pages one has for a second of CPU, each in its best run."""
    ours, theirs = (max(run.pages_per_cpu_s for run in runs[name.name]) for name in (one, other))
    return ours / theirs


def show(setting: CrawlSetting, crawlers: Sequence[StoreCrawler], runs: Runs) -> None:
    """Print a table of Markdown."""
    print(f"\n| {setting.name} | pages | pages/s | | in all | CPU a page | Redis a page | by CPU |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for crawler in crawlers:
        name = crawler.name
        run = max(runs[name], key=lambda run: run.pages_per_s)
        ratio = beside(runs, crawler, crawlers[0])
        store = f"{run.store_s * 1e6 / run.pages:.0f} µs" if run.store_s else ""
        by_cpu = beside_by_cpu(runs, crawler, crawlers[0])
        print(
            f"| {name} | {run.pages:,} | {run.pages_per_s:,.0f} | {ratio:.0%} "
            f"| {run.wall_s:.1f} s | {run.cpu_s * 1e3 / run.pages:.2f} ms | {store} "
            f"| {by_cpu:.0%} |",
            flush=True,
        )


async def show_memory(store: str, pages: int) -> None:
    """Print what the last crawl has left in the Redis."""
    async with Redis.from_url(store) as client:
        kinds = await bytes_by_kind(client, CRAWL)
    print(f"\nin the Redis: {sum(kinds.values()) / pages:,.0f} bytes a page, of which")
    for kind, size in sorted(kinds.items(), key=lambda one: -one[1])[:8]:
        print(f"  {kind:<10}{size / pages:>8,.0f}")


def judge(ratio: float, by_cpu: float, scaling: float, idle: float) -> int:
    """Print the verdict; none on speed where others were at work: they take more from some."""
    print(f"\n{os.cpu_count()} cores, without us {idle:.0%} idle")
    print(f"1 worker: {ratio:.0%} of a crawl in a file (wanted {WANTED_RATIO:.0%})")
    print(f"1 worker: {by_cpu:.0%} of its pages for a second of CPU (wanted {WANTED_RATIO:.0%})")
    print(f"2 workers: {scaling:.2f} x one where no core is short (wanted {WANTED_SCALING})")
    if idle < QUIET:
        print(f"SPEED NOT JUDGED: the machine must be {QUIET:.0%} idle before and after")
        return 1 if by_cpu < WANTED_RATIO else 0
    return 1 if min(ratio, by_cpu) < WANTED_RATIO or scaling < WANTED_SCALING else 0


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="how often everybody crawls")
    given = parser.parse_args()
    embedded, one, two = (
        StoreCrawler("embedded"),
        StoreCrawler("1 worker", 1),
        StoreCrawler("2 workers", 2),
    )
    idle = [idle_share()]
    with serve() as server, own_redis() as store:
        site = compare([embedded, one], one_site(server), store, given.turns)
        show(one_site(server), [embedded, one], site)
        asyncio.run(show_memory(store, site[one.name][-1].pages))
        hosts = compare([embedded, one, two], many_hosts(server), store, given.turns)
        show(many_hosts(server), [embedded, one, two], hosts)
    with serve(ANSWER_MS) as server, own_redis() as store:
        slow = compare([one, two], slow_hosts(server), store, given.turns)
        show(slow_hosts(server), [one, two], slow)
    idle.append(idle_share())
    by_cpu = beside_by_cpu(site, one, embedded)
    return judge(beside(site, one, embedded), by_cpu, beside(slow, two, one), min(idle))


if __name__ == "__main__":
    sys.exit(main())
