"""Crawl the synthetic web in a process of its own, and hold what came of it against its oracle.

    PYTHONPATH=tools python -m benchmarks.crawl_graph    1,000 hosts, 50,000 pages: a minute
    PYTHONPATH=tools python -m benchmarks.crawl_graph '{"hosts": 100, "pages": 3000}'

Prints one object of JSON. Memory and CPU time are those of the crawl with all of its processes: the
web is served by another process, and the oracle is asked afterwards.
"""

import gc
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import uvloop
from crawled import read_urls
from memory_watch import MemoryWatch, children_of
from tests.webs.graph import GraphWeb

import gossamer

WORKERS = 4


class GraphReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the crawl."""

    ended_by: str
    expected: int
    """How many URLs there are to settle."""
    outcomes: dict[str, int]
    wrong: list[str]
    """URLs that are missing, one too many, or not as the oracle says; the first ten."""
    most_at_once: int
    """Requests to one host at the same moment, by the server's log."""
    elapsed_s: float
    cpu_s: float
    """Of all processes of the crawl."""
    cpu_ms_a_page: float
    coordinator_us_a_page: float
    """CPU time of the process that coordinates the crawl."""
    pages_per_s: float
    peak_mb: float
    """Of all processes together; memory that they share counts for each."""
    process_mb: list[float]
    """The most of each process: the coordinator first."""


def main() -> None:
    """Crawl, compare, print."""
    description = sys.argv[1] if len(sys.argv) > 1 else "{}"
    graph = msgspec.json.decode(description, type=GraphWeb)
    with graph.serve_in_process() as served, tempfile.TemporaryDirectory() as folder:
        memory = MemoryWatch(os.getpid(), ignored=children_of(os.getpid()))
        memory.start()
        started, own_started, others_started = time.monotonic(), own_cpu_s(), others_cpu_s()
        gc.set_threshold(20_000, 20, 20)  # as the command has it
        gc.freeze()
        summary = uvloop.run(
            gossamer.crawl(
                graph.seed_url,
                dns=served.dns,
                allow_network=["127.0.0.1"],
                dir=folder,
                scope="any",
                workers=WORKERS,
                delay="0s",
                similarity="off",
                timeout="2s",
                max_pages=10**9,
                max_bytes="1TB",
            )
        )
        elapsed_s, own_s = time.monotonic() - started, own_cpu_s() - own_started
        cpu_s = own_s + others_cpu_s() - others_started
        memory.stop()
        pages = summary.snapshot.pages
        report = GraphReport(
            ended_by=summary.ended_by,
            expected=len(graph.reachable()),
            outcomes=summary.snapshot.outcomes,
            wrong=wrong_urls(graph, Path(folder))[:10],
            most_at_once=served.report().most_at_once,
            elapsed_s=round(elapsed_s, 1),
            cpu_s=round(cpu_s, 1),
            cpu_ms_a_page=round(1e3 * cpu_s / pages, 3),
            coordinator_us_a_page=round(1e6 * own_s / pages),
            pages_per_s=round(pages / elapsed_s),
            peak_mb=round(memory.peak_bytes / 1e6),
            process_mb=[round(peak / 1e6) for peak in memory.peaks.values()],
        )
    print(msgspec.json.format(msgspec.json.encode(report)).decode())


def wrong_urls(graph: GraphWeb, folder: Path) -> list[str]:
    """Return what is not as the oracle says."""
    expected, settled = graph.reachable(), read_urls(folder)
    wrong = [f"{url} is not part of it" for url in settled.keys() - expected.keys()]
    for url, wanted in expected.items():
        found = settled.get(url)
        if found is None or found.outcome is None:
            wrong.append(f"{url} is not settled")
        elif not wanted.allows(found.outcome) or found.depth != wanted.depth:
            wrong.append(f"{url}: {found.outcome} at {found.depth} instead of {wanted}")
    return wrong


def own_cpu_s() -> float:
    """Return the CPU time of this process."""
    return time.process_time()


def others_cpu_s() -> float:
    """Return the CPU time of its children that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
