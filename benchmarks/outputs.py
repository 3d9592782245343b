"""Crawl one real documentation site with each output and without, in turn, and compare.

The time is that of the whole command, with its start and until its outputs are finished. In each
turn everybody crawls once. The targets are about the fastest runs: what else the machine does can
only make one slower. The other ratios tell whether to believe that: the median of the turns, in
each of which all meet much the same weather, and the CPU of all processes.

    PYTHONPATH=tools python -m benchmarks.outputs [TURNS]
"""

import sys
from statistics import median

from benchmarks.peers.crawlers import gossamer
from benchmarks.peers.measuring import CrawlRun, measure
from benchmarks.peers.nginx import serve
from benchmarks.peers.sites import SMALL, site

from gossamer.outputs.registry import OUTPUTS

TURNS = 7
WITHOUT = "without an output"
WANTED_RATIOS = {".jsonl": 0.85, ".parquet": 0.7, ".warc.gz": 0.7}


def main(turns: int = TURNS) -> int:
    crawlers = [gossamer(WITHOUT)]
    for ending in WANTED_RATIOS:
        assert ending in OUTPUTS
        crawlers.append(gossamer(ending, "-o", f"{{folder}}/pages{ending}"))
    runs: dict[str, list[CrawlRun]] = {one.name: [] for one in crawlers}
    with serve(site(SMALL)) as server:
        for crawler in crawlers:  # once for nothing: what is read from the disk is in memory then
            measure(crawler, server)
        for turn in range(turns):
            for crawler in crawlers:
                runs[crawler.name].append(measure(crawler, server))
            walls = ", ".join(f"{name} {found[-1].wall_s:.2f} s" for name, found in runs.items())
            print(f"  turn {turn + 1} of {turns}: {walls}", flush=True)
    show(runs)
    missed = [name for name, wanted in WANTED_RATIOS.items() if not holds(name, runs, wanted)]
    return 1 if missed else 0


def show(runs: dict[str, list[CrawlRun]]) -> None:
    columns = f"{'pages':>8}{'best pages/s':>14}{'CPU ms a page':>22}{'peak memory':>14}"
    print(f"\n{'':18}{columns}")
    for name, found in runs.items():
        cpu = [run.cpu_ms for run in found]
        print(
            f"{name:18}{found[0].pages:>8,}{max(run.pages_per_s for run in found):>14,.0f}"
            f"{min(cpu):>8.2f}, median {median(cpu):.2f}"
            f"{max(run.peak_bytes for run in found) / 1e6:>11.0f} MB"
        )
    print()


def holds(name: str, runs: dict[str, list[CrawlRun]], wanted: float) -> bool:
    """Print what an output costs; tell whether its target holds."""
    mine, others = runs[name], runs[WITHOUT]
    best = max(run.pages_per_s for run in mine) / max(run.pages_per_s for run in others)
    turns = zip(mine, others, strict=True)
    usual = median(one.pages_per_s / other.pages_per_s for one, other in turns)
    cpu = min(run.cpu_s for run in others) / min(run.cpu_s for run in mine)
    is_met = best >= wanted
    print(
        f"{name}: {best:.2f} of the pages/s without, wanted {wanted}: "
        f"{'holds' if is_met else 'MISSED'} (median of the turns {usual:.2f}, by CPU {cpu:.2f})"
    )
    return is_met


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
