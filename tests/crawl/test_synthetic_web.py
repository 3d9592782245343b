"""The synthetic web: redirects, loops, 404s, failures, slow hosts, and an oracle that knows all."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[2]


class ScriptReport(msgspec.Struct):
    """What the script says that matters here."""

    ended_by: str
    expected: int
    outcomes: dict[str, int]
    wrong: list[str]
    most_at_once: int
    process_mb: list[float]


@pytest.mark.req("B1", "B2", "B3", "D19")
def test_every_reachable_page_is_settled_once_as_the_oracle_says() -> None:
    """A fifteenth of the web that `make bench` crawls, in bounded memory."""
    web = {"hosts": 100, "pages": 3000, "silent": 1, "slow_hosts": 0.1, "calendars": 1}
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.crawl_graph", msgspec.json.encode(web).decode()],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
    )
    assert ran.returncode == 0, ran.stderr.decode()
    report = msgspec.json.decode(ran.stdout, type=ScriptReport)
    assert report.wrong == []
    assert report.ended_by == "complete"
    assert sum(report.outcomes.values()) == report.expected > 2500
    assert {"fetched", "redirected", "not_found", "server_error", "timed_out"} <= set(
        report.outcomes
    )
    assert report.most_at_once == 1
    assert len(report.process_mb) == 6  # coordinator, launcher and four workers
    assert max(report.process_mb) < 120
