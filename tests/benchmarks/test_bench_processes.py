"""`make bench BASELINE=…` runs another clone with its own Python and its own script."""

import sys
from pathlib import Path

import pytest
from benchmarks.bench_processes import Version, many_hosts

SCRIPT = """\
import json, os, sys
assert sys.executable == os.path.abspath(".venv/bin/python"), sys.executable
assert json.loads(sys.argv[1])["hosts"] == 1000
figures = {"cpu_ms_a_page": COST, "coordinator_us_a_page": 1, "pages_per_s": 1}
print(json.dumps({"wrong": [], "process_mb": [], **figures}))
"""


@pytest.mark.parametrize("place", ["benchmarks/crawl_graph.py", "tests/perf/crawl_graph.py"])
def test_another_clone_is_measured_by_its_own_script(tmp_path: Path, place: str) -> None:
    script = tmp_path / place
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT.replace("COST", "7.5"), encoding="utf-8")
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    measured = many_hosts(Version(tmp_path, python))
    assert measured["CPU ms a page, all processes"] == 7.5
