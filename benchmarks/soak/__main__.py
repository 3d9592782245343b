"""`make soak`: a crawl of 2,000 hosts, half of them with faults, watched for ten minutes.

It fails if the crawl crashes, if the memory of one of its processes or its open files grow after
the warm-up, if honest hosts lose their pace, if a URL was left in progress or has no outcome, or if
the stored state is not sound. STORE=redis crawls with a Redis of its own, which may grow with its
data and no more; SIMILARITY=off without the index of near duplicates. The picture of memory over
time goes to docs/.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.soak.crawling import Urls, crawl, read, read_urls, seeds_and_options, serve
from benchmarks.soak.measure import growth, slope
from benchmarks.soak.picture import draw
from benchmarks.soak.stores import STORES, open_store

from gossamer.testing.simulator import FAULTS, SimulatedWeb

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = {"embedded": "soak.svg", "redis": "soak-redis.svg"}
FAULTY_SHARE = 0.5
WARM_UP = 0.4
"""The share of the time after which memory must be flat."""
MAX_GROWTH_MB = 2.0
"""A minute."""
MAX_GROWTH_FILES = 10.0
LEAST_PACE = 0.9
ENDED_BY_US = 130


def main() -> int:
    """Soak, report, and return how many promises did not hold."""
    wishes = read_arguments()
    faults = [name for name in FAULTS if name not in wishes.without]
    web = SimulatedWeb(
        hosts=wishes.hosts,
        pages=wishes.pages,
        faults=dict.fromkeys(faults, FAULTY_SHARE / len(faults)),
        domain="localhost",
    )
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-soak-") as name,
        open_store(wishes.store, Path(name)) as store,
        serve(web) as port,
    ):
        options = seeds_and_options(web, port, Path(name))
        options += ["--delay", f"{wishes.delay}s", "--similarity", wishes.similarity]
        watched = crawl(Path(name), store, [*options, *wishes.option], wishes.minutes)
        status, verified = read(store, "status"), read(store, "verify")
        urls = read_urls(store)
    samples = watched.samples
    warm_at = WARM_UP * samples[-1].at_s
    warm = [one for one in samples if one.at_s >= warm_at]
    files = 60 * slope([(one.at_s, one.files) for one in warm])
    data = 60 * slope([(one.at_s, one.data_mb) for one in warm])
    pace = honest_pace(web, urls, watched.stopped_at, wishes)
    broken = [one["rule"] for one in verified["findings"] if one["broken"]]
    checks = {
        f"the crawl was ended by us (exit code {watched.exit_code})": (
            watched.exit_code == ENDED_BY_US
        ),
        f"{files:+.1f} open files a minute": files < MAX_GROWTH_FILES,
        f"{status['in_progress']} URLs in progress at the end": status["in_progress"] == 0,
        f"{urls.without_outcome} finished URLs without an outcome": urls.without_outcome == 0,
        f"honest hosts had {pace:.0%} of their pace": pace >= LEAST_PACE,
        f"verify: {', '.join(broken) or 'sound'}": verified["sound"],
    }
    for process, grown in growth(warm).items():
        expected = data if process == "server" else 0.0
        words = f"{process}: {grown:+.2f} MB a minute after the warm-up"
        words += f", its data {data:+.2f}" if process == "server" else ""
        checks[words] = grown - expected < MAX_GROWTH_MB
    peak = max(one.memory_mb for one in samples)
    print(f"{status['pages']:,} pages, {status['finished']:,} URLs, at most {peak:.0f} MB")
    for words, holds in checks.items():
        print(f"{'ok    ' if holds else 'FAILED'} {words}")
    title = f"Memory of a crawl of {wishes.hosts:,} hosts, half of them hostile"
    picture = DOCS / PICTURES[wishes.store]
    picture.write_text(draw(samples, title, warm_at), encoding="utf-8")
    return len([one for one in checks.values() if not one])


def read_arguments() -> argparse.Namespace:
    """Return what is wished for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--store", choices=STORES, default="embedded")
    parser.add_argument("--similarity", default="0.9", help="off: without near duplicates")
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--pages", type=int, default=2_000, help="of the largest host")
    parser.add_argument("--delay", type=float, default=10, help="between requests to a host, in s")
    parser.add_argument("--without", nargs="*", default=[], help="faults to leave out")
    parser.add_argument("--option", action="append", default=[], help="another option of the crawl")
    return parser.parse_args()


def honest_pace(
    web: SimulatedWeb, urls: Urls, stopped_at: float, wishes: argparse.Namespace
) -> float:
    """Return which share of the requests that were due honest hosts got, after the warm-up.

    Counted are hosts that have pages to the end.
    """
    warm = stopped_at - (1 - WARM_UP) * 60 * wishes.minutes
    honest = {f"h{one}.localhost" for one in range(web.hosts) if not web.all_hosts.fault_of(one)}
    due = (stopped_at - warm) / wishes.delay
    counted = honest & urls.unfinished & set(urls.finished_at)
    counts = [sum(at >= warm for at in urls.finished_at[host]) for host in counted]
    return sum(min(count / due, 1.0) for count in counts) / len(counts) if counts else 0.0


if __name__ == "__main__":
    sys.exit(main())
