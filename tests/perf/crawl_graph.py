"""Crawl the synthetic web in a process of its own, and hold what came of it against its oracle.

    PYTHONPATH=tools python tests/perf/crawl_graph.py    1,000 hosts, 50,000 pages: a minute
    PYTHONPATH=tools python tests/perf/crawl_graph.py '{"hosts": 100, "pages": 3000}'

Prints one object of JSON. Memory and CPU time are those of the crawl: the web is served by another
process, and the oracle is asked afterwards.
"""

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from crawled import read_urls

import gossamer
from gossamer.testing import GraphWeb

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
    pages_per_s: float
    peak_mb: float
    before_mb: float
    """The memory when the crawl began."""


def main() -> None:
    """Crawl, compare, print."""
    description = sys.argv[1] if len(sys.argv) > 1 else "{}"
    graph = msgspec.json.decode(description, type=GraphWeb)
    with graph.serve_in_process() as served, tempfile.TemporaryDirectory() as folder:
        before_mb, started, cpu_started = peak_mb(), time.monotonic(), time.process_time()
        summary = asyncio.run(
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
        elapsed_s, cpu_s, most_mb = (
            time.monotonic() - started,
            time.process_time() - cpu_started,
            peak_mb(),
        )
        report = GraphReport(
            ended_by=summary.ended_by,
            expected=len(graph.reachable()),
            outcomes=summary.snapshot.outcomes,
            wrong=wrong_urls(graph, Path(folder))[:10],
            most_at_once=served.report().most_at_once,
            elapsed_s=round(elapsed_s, 1),
            cpu_s=round(cpu_s, 1),
            pages_per_s=round(summary.snapshot.pages / elapsed_s),
            peak_mb=round(most_mb),
            before_mb=round(before_mb),
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


def peak_mb() -> float:
    """Return the largest resident set of this process so far.

    On Linux not that of `getrusage`, which begins with the memory of the process that started it.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
