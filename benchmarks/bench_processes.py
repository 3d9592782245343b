"""What the processes of a crawl cost: one page alone, one site, and 1,000 hosts with four workers.

    PYTHONPATH=tools python -m benchmarks.bench_processes [FOLDER OF ANOTHER CLONE]

Another version is a clone of another commit, after `make setup` there. It is run beside this one,
in turn, each with its own Python and its own scripts, and the ratios of the best turns are printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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


class Version(NamedTuple):
    """A clone of Gossamer: this one, or one of another commit."""

    root: Path
    python: Path

    def crawl_graph(self) -> list[str]:
        """Return the command that crawls the synthetic web, to be run in the clone."""
        old = self.root / "tests/perf/crawl_graph.py"
        script = [str(old)] if old.exists() else ["-m", "benchmarks.crawl_graph"]
        return [str(self.python), *script]


THIS = Version(ROOT, Path(sys.executable))


def run_command(version: Version, url: str, *options: str) -> tuple[float, float]:
    """Crawl with the command of a version; return the time and the CPU time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        # Without a pause: it would be most of the time.
        given = ["--quiet", "--delay", "0s", "--dir", f"{folder}/crawl", *options]
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(version.python.with_name("gossamer")), "crawl", url, *given], env=ENVIRONMENT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def one_page(version: Version, web: Web) -> Figures:
    """Crawl one page; return what it took."""
    wall_s, cpu_s = run_command(version, f"{web.base_url}/")
    return {"CPU ms": 1e3 * cpu_s, "wall ms": 1e3 * wall_s}


def one_site(version: Version, server: SiteServer) -> Figures:
    """Crawl a manual of small pages, with several connections; return what a page took."""
    at_once = ("--connections", "16", "--host-connections", "16", "--similarity", "off")
    wall_s, cpu_s = run_command(version, server.seed, *at_once, "--max-pages", "1000000")
    pages = len({one.page for one in server.requests()} & server.site.pages)
    assert pages == len(server.site.pages)
    return {RATE: pages / wall_s, "CPU ms a page": 1e3 * cpu_s / pages}


def many_hosts(version: Version) -> Figures:
    """Crawl many hosts with four workers; return what a page took."""
    command = [*version.crawl_graph(), json.dumps(WEB)]
    environment = ENVIRONMENT | {"PYTHONPATH": "tools"}  # that of the clone
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, cwd=version.root, env=environment
    )
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["wrong"] == []
    print(f"  memory of each process: {', '.join(f'{mb:.0f} MB' for mb in report['process_mb'])}")
    return {
        "CPU ms a page, all processes": report["cpu_ms_a_page"],
        "CPU us a page, coordinator": report["coordinator_us_a_page"],
        RATE: report["pages_per_s"],
    }


def compare(
    name: str, measure: Callable[[Version], Figures], other: Version | None, turns: int = TURNS
) -> None:
    """Print the best figures of this version, beside those of another one."""
    print(name, flush=True)
    versions = [THIS] if other is None else [THIS, other]
    runs: dict[Version, list[Figures]] = {version: [] for version in versions}
    for _ in range(turns):
        for version in versions:
            runs[version].append(measure(version))
    ours = best(runs[THIS])
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
    other = None
    if len(sys.argv) > 1:
        root = Path(sys.argv[1]).resolve()
        other = Version(root, root / ".venv/bin/python")
        if not other.python.exists():
            sys.exit(f"{root} is no clone that has been set up: run make setup there")
    with Web() as web:
        web.site("127.0.0.1").page("/")
        compare("a crawl of one page", lambda version: one_page(version, web), other)
    with serve(site(SMALL)) as server:
        name = f"one site, {len(server.site.pages):,} pages"
        compare(name, lambda version: one_site(version, server), other)
    name = f"{WEB['hosts']:,} hosts, {WEB['pages']:,} pages, four workers"
    compare(name, many_hosts, other, LONG_TURNS)


if __name__ == "__main__":
    main()
