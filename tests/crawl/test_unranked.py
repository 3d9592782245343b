"""A scorer that cannot rank is told of: at once, in the summary, and in the status."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled

from gossamer.coordinator.observer import Silence
from gossamer.model import Level
from gossamer.testing import Web

pytestmark = pytest.mark.req("D4")

BROKEN = """
def score(candidate):
    raise ConnectionError("the service is away")
"""

HANGS = """
import threading, pathlib

def score(candidate):
    pathlib.Path("begun").touch()
    threading.Event().wait()
"""
PATIENCE_S = 30


def gossamer(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gossamer", *map(str, words)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def site(web: Web) -> str:
    """The URL of a site with five pages."""
    site = web.site("127.0.0.1")
    site.page("/", links=["/1", "/2"])
    site.page("/1", links=["/3", "/4"])
    for page in ("/2", "/3", "/4"):
        site.page(page, text=page)
    return f"{web.base_url}/"


def test_the_command_tells_it_once_and_the_count_at_the_end(site: str, tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").write_text(BROKEN)
    command = ["crawl", site, "--dir", "d", "--delay", "0s", "--scorer", "./mine.py:score"]
    command += ["--similarity", "off"]
    said = gossamer(tmp_path, *command).stderr
    trouble = "the scorer ./mine.py:score raised 'ConnectionError: the service is away'"
    warnings = [line for line in said.splitlines() if "warning" in line]
    assert warnings == [f"gossamer: warning: URLs are not ranked: {trouble} (unranked=1)"]
    summary = " ".join(said[said.index("Crawled 5 pages") :].split())
    assert f"Scorer 5 URLs not ranked: {trouble}" in summary
    status = " ".join(gossamer(tmp_path, "status", "--dir", "d").stdout.split())
    assert f"scorer 5 URLs not ranked: {trouble}" in status
    [found] = [json.loads(gossamer(tmp_path, "status", "--dir", "d", "--json").stdout)]
    assert found["scorer"]["unranked"] == 5
    assert "the service is away" in found["scorer"]["trouble"]
    gossamer(tmp_path, "verify", "--dir", "d")


def test_a_scorer_that_hangs_costs_ten_seconds_and_the_order(site: str, tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").write_text(HANGS)
    command = ["crawl", site, "--dir", "d", "--delay", "0s", "--scorer", "./mine.py:score"]
    said = gossamer(tmp_path, *command, "--similarity", "off").stderr
    assert "URLs are not ranked: the scorer ./mine.py:score took longer than 10 s" in said
    summary = " ".join(said[said.index("Crawled 5 pages in 1") :].split())
    assert "Scorer 5 URLs not ranked: the scorer ./mine.py:score still runs after 10 s" in summary


def test_ctrl_c_is_heeded_while_a_scorer_hangs(site: str, tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").write_text(HANGS)
    words = ["crawl", site, "--dir", "d", "--delay", "0s", "--scorer", "./mine.py:score"]
    command = [sys.executable, "-m", "gossamer", *words]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as run:
        try:
            give_up_at = time.monotonic() + PATIENCE_S
            while not tmp_path.joinpath("begun").exists():
                assert time.monotonic() < give_up_at
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            assert run.wait(timeout=5) == 130
        finally:
            run.kill()


def test_programs_read_it_in_the_log(site: str, tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").write_text(BROKEN)
    command = ["crawl", site, "--dir", "d", "--delay", "0s", "--scorer", "./mine.py:score"]
    lines = gossamer(tmp_path, *command, "--log-format", "json").stderr.splitlines()
    records = [json.loads(line) for line in lines]
    [message] = [one for one in records if one["event"] == "message" and "unranked" in one]
    assert message["level"] == "warning"
    [summary] = [one for one in records if one["event"] == "summary"]
    assert summary["scorer"]["name"] == "./mine.py:score"
    assert summary["scorer"]["unranked"] == 5


class SayingsRecorder(Silence):
    """Remembers what is said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, dict[str, object]]] = []

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        self.said.append((level, message, dict(fields)))


def test_a_service_that_is_out_of_reach(crawl: Callable[..., Crawled], web: Web) -> None:
    """The default service is not in the table of names: it cannot be asked; the crawl goes on."""
    web.site("a.com").page("/", links=["/1", "http://b.com/"])
    web.site("a.com").page("/1")
    web.site("b.com").page("/")
    listener = SayingsRecorder()
    found = crawl("http://a.com/", scope="any", pagerank_key="s3cret", observer=listener)
    assert found.summary.snapshot.pages == 3
    report = found.summary.scorer
    assert report is not None
    assert (report.name, report.unranked) == ("pagerank", 3)
    assert report.trouble.startswith("Open PageRank: no answer (ConnectionError)")
    assert listener.said == [("warning", f"URLs are not ranked: {report.trouble}", {"unranked": 1})]
    assert "s3cret" not in repr(found.summary)
