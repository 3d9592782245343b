"""What the processes of a crawl cost: one page alone, one site, and 1,000 hosts with four workers.

    PYTHONPATH=tools python -m benchmarks.bench_processes [PYTHON OF ANOTHER VERSION]

Another version, such as that of a clone of an earlier commit, is run beside this one, in turn, and
the ratios of the best turns are printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.nginx import SiteServer, serve
from benchmarks.peers.sites import SMALL, site

from gossamer.testing import Web

ROOT = Path(__file__).resolve().parents[1]
TURNS = 8
LONG_TURNS = 2
"""Of what takes a quarter of a minute."""
WEB = {"hosts": 1000, "pages": 20_000}
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
RATE = "pages/s"
"""The figure of which more is better."""

Figures = dict[str, float]


def run_command(python: str, url: str, *options: str) -> tuple[float, float]:
    """Crawl with the command of a version; return the time and the CPU time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        # Without a pause: it would be most of the time.
        given = ["--quiet", "--delay", "0s", "--dir", f"{folder}/crawl", *options]
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(Path(python).with_name("gossamer")), "crawl", url, *given], env=ENVIRONMENT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def one_page(python: str, web: Web) -> Figures:
    """Crawl one page; return what it took."""
    wall_s, cpu_s = run_command(python, f"{web.base_url}/")
    return {"CPU ms": 1e3 * cpu_s, "wall ms": 1e3 * wall_s}


def one_site(python: str, server: SiteServer) -> Figures:
    """Crawl a manual of small pages, with several connections; return what a page took."""
    at_once = ("--connections", "16", "--host-connections", "16", "--similarity", "off")
    wall_s, cpu_s = run_command(python, server.seed, *at_once, "--max-pages", "1000000")
    pages = len({one.page for one in server.requests()} & server.site.pages)
    assert pages == len(server.site.pages)
    return {RATE: pages / wall_s, "CPU ms a page": 1e3 * cpu_s / pages}


def many_hosts(python: str) -> Figures:
    """Crawl many hosts with four workers; return what a page took."""
    command = [python, "-m", "benchmarks.crawl_graph", json.dumps(WEB)]
    ran = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=ENVIRONMENT)
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["wrong"] == []
    print(f"  memory of each process: {', '.join(f'{mb:.0f} MB' for mb in report['process_mb'])}")
    return {
        "CPU ms a page, all processes": report["cpu_ms_a_page"],
        "CPU us a page, coordinator": report["coordinator_us_a_page"],
        RATE: report["pages_per_s"],
    }


def compare(
    name: str, measure: Callable[[str], Figures], other: str | None, turns: int = TURNS
) -> None:
    """Print the best figures of this version, beside those of another one."""
    print(name, flush=True)
    versions = [sys.executable] if other is None else [sys.executable, other]
    runs: dict[str, list[Figures]] = {python: [] for python in versions}
    for _ in range(turns):
        for python in versions:
            runs[python].append(measure(python))
    ours = best(runs[sys.executable])
    theirs = best(runs[other]) if other else {}
    for figure, value in ours.items():
        beside = f", before {theirs[figure]:.3g}: {value / theirs[figure]:.2f} x" if theirs else ""
        print(f"  {figure}: {value:.3g}{beside}", flush=True)


def best(turns: Sequence[Figures]) -> Figures:
    """Return the best of each figure: what else the machine does can only make one worse."""
    return {
        figure: (max if figure == RATE else min)(one[figure] for one in turns)
        for figure in turns[0]
    }


def main() -> None:
    """Measure."""
    other = sys.argv[1] if len(sys.argv) > 1 else None
    with Web() as web:
        web.site("127.0.0.1").page("/")
        compare("a crawl of one page", lambda python: one_page(python, web), other)
    with serve(site(SMALL)) as server:
        name = f"one site, {len(server.site.pages):,} pages"
        compare(name, lambda python: one_site(python, server), other)
    name = f"{WEB['hosts']:,} hosts, {WEB['pages']:,} pages, four workers"
    compare(name, many_hosts, other, LONG_TURNS)


if __name__ == "__main__":
    main()
