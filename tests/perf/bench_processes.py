"""What the processes of a crawl cost: one page alone, and 1,000 hosts with four workers.

    PYTHONPATH=tools python tests/perf/bench_processes.py [PYTHON OF ANOTHER VERSION]

Another version, such as that of a clone of an earlier commit, is run beside this one, in turn, and
the ratios are printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer.testing import Web

HERE = Path(__file__).resolve().parent
TURNS = 8
WEB = {"hosts": 1000, "pages": 20_000}
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}

Figures = dict[str, float]


def one_page(python: str) -> Figures:
    """Crawl one page with the command; return the CPU time and the time of its best turn."""
    best = {"CPU ms": float("inf"), "wall ms": float("inf")}
    with Web() as web, tempfile.TemporaryDirectory() as folder:
        web.site("127.0.0.1").page("/")
        for turn in range(TURNS):
            command = [str(Path(python).with_name("gossamer")), "crawl", f"{web.base_url}/"]
            # Without a pause: it would be most of the time.
            options = ["--quiet", "--delay", "0s", "--dir", f"{folder}/{turn}"]
            started = time.perf_counter()
            process = subprocess.Popen([*command, *options], env=ENVIRONMENT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            wall_ms = 1e3 * (time.perf_counter() - started)
            best["CPU ms"] = min(best["CPU ms"], 1e3 * (usage.ru_utime + usage.ru_stime))
            best["wall ms"] = min(best["wall ms"], wall_ms)
    return best


def many_hosts(python: str) -> Figures:
    """Crawl many hosts with four workers; return what a page cost."""
    command = [python, str(HERE / "crawl_graph.py"), json.dumps(WEB)]
    ran = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["wrong"] == []
    print(f"  memory of each process: {', '.join(f'{mb:.0f} MB' for mb in report['process_mb'])}")
    return {
        "CPU ms a page, all processes": report["cpu_ms_a_page"],
        "CPU us a page, coordinator": report["coordinator_us_a_page"],
        "pages/s": report["pages_per_s"],
    }


def compare(name: str, measure: Callable[[str], Figures], other: str | None) -> None:
    """Print the figures of this version, beside those of another one."""
    print(name, flush=True)
    theirs = measure(other) if other else {}
    for figure, ours in measure(sys.executable).items():
        beside = f", before {theirs[figure]:.3g}: {ours / theirs[figure]:.2f} x" if theirs else ""
        print(f"  {figure}: {ours:.3g}{beside}", flush=True)


def main() -> None:
    """Measure."""
    other = sys.argv[1] if len(sys.argv) > 1 else None
    compare("a crawl of one page", one_page, other)
    compare(f"{WEB['hosts']:,} hosts, {WEB['pages']:,} pages, four workers", many_hosts, other)


if __name__ == "__main__":
    main()
