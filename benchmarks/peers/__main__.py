"""Crawl the same sites with Gossamer and with others, in turn, and compare.

    PYTHONPATH=tools python -m benchmarks.peers [--turns 5] [--sites …] [--crawlers …] [--store]

Everybody gets the same pages from the same nginx, over loopback, in the same minutes. The time is
that of the whole command, with its start; CPU and memory are those of the command and all its
children, without the server. In each turn everybody crawls once, and counts with the fastest run:
what else the machine does can only make one slower. Who is slow has fewer turns, and a crawl that
takes longer than the limit is ended; it is compared by the pages that it had until then with the
same number of the other's.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence

from benchmarks.idle import QUIET, idle_share
from benchmarks.peers.crawlers import NAMES, crawlers
from benchmarks.peers.measuring import Crawler, CrawlRun, measure
from benchmarks.peers.nginx import SiteServer, serve
from benchmarks.peers.report import store, tables
from benchmarks.peers.sites import TITLES, CrawledSite, site
from benchmarks.peers.targets import Best

LIMIT_S = 600
ENOUGH_S = 100
"""Who has crawled a site for so long has no further turn there."""


def compare(
    takers: Sequence[Crawler], server: SiteServer, turns: int, limit_s: float
) -> dict[str, CrawlRun]:
    """Return the fastest run of each; they take turns, so that all meet the same weather."""
    best: dict[str, CrawlRun] = {}
    spent_s = dict.fromkeys([one.name for one in takers], 0.0)
    for turn in range(turns):
        for crawler in takers:
            if spent_s[crawler.name] > ENOUGH_S:
                continue
            run = measure(crawler, server, limit_s)
            spent_s[crawler.name] += run.wall_s
            print(
                f"  {server.site.name}, turn {turn + 1}, {crawler.name}: {run.pages:,} pages in "
                f"{run.wall_s:.2f} s, {run.cpu_ms:.2f} ms of CPU each",
                flush=True,
            )
            if crawler.name not in best or run.pages_per_s > best[crawler.name].pages_per_s:
                best[crawler.name] = run
    return best


def missing(best: Best, ours: Sequence[Crawler]) -> list[str]:
    """Say where Gossamer did not fetch every page of the independent list."""
    names = [one.name for one in ours if one.is_ours]
    return [
        f"{name} on {place}: {run.pages:,} of {run.listed:,} pages"
        for place, runs in best.items()
        for name, run in runs.items()
        if name in names and run.pages != run.listed
    ]


def found_sites(names: Sequence[str]) -> Iterator[CrawledSite]:
    """Give the sites that can be had; say which cannot."""
    for name in names:
        try:
            yield site(name)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {error}", flush=True)


def main() -> int:
    """Measure, print, and store what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of one crawl")
    parser.add_argument("--sites", nargs="+", choices=TITLES, default=[*TITLES])
    parser.add_argument("--crawlers", nargs="+", choices=NAMES, default=[*NAMES])
    parser.add_argument("--store", action="store_true", help="write JSON, picture and page")
    given = parser.parse_args()
    idle = idle_share()
    print(f"the machine is {idle:.0%} idle{'' if idle >= QUIET else ': too busy to judge ratios'}")
    takers = [*crawlers(given.crawlers)]
    sites = {one.name: one for one in found_sites(given.sites)}
    best: Best = {}
    for name, place in sites.items():
        with serve(place) as server:
            best[name] = compare(takers, server, given.turns, given.limit)
    print("\n" + tables(best, sites))
    if given.store:
        store(best, sites, given.turns, idle)
    incomplete = missing(best, takers)
    for one in incomplete:
        print(f"NOT COMPLETE: {one}")
    return 1 if incomplete else 0


if __name__ == "__main__":
    sys.exit(main())
