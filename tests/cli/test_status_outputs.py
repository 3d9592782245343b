"""`gossamer status` tells where the outputs of a crawl are, and how far."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import Pause, Web

Command = Callable[..., subprocess.CompletedProcess[str]]
WAIT_S = 30.0


def outputs(gossamer: Command, crawl: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gossamer("status", *crawl, "--json").stdout)["outputs"]
    return found


def test_each_output_with_its_results(
    web: Web, gossamer: Command, crawl: list[str], tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/b"], text="the first")
    site.page("/b", links=["/c"], text="another one")
    words = ["crawl", web.base_url, "--delay", "0s", *crawl]
    gossamer(*words, "--max-pages", "1", "-o", "a.csv", "-o", "a.md/", cwd=tmp_path)
    gossamer("resume", *crawl, "--max-pages", "9", "-o", "none", cwd=tmp_path)
    gossamer("export", *crawl, "-o", "all.jsonl", cwd=tmp_path)
    state = {"finished": True, "results": 2}
    assert outputs(gossamer, crawl) == [
        {"target": f"{tmp_path}/a.csv", "written": 1, **state},
        {"target": f"{tmp_path}/a.md", "written": 1, **state},
        {"target": f"{tmp_path}/all.jsonl", "written": 2, **state},
    ]
    told = gossamer("status", *crawl).stdout
    assert f"  outputs     finished  1 of 2 results  {tmp_path}/a.csv\n" in told


@pytest.mark.parametrize("name", ["a.parquet", "a.html"])
def test_an_output_in_progress(web: Web, gossamer: Command, tmp_path: Path, name: str) -> None:
    site = web.site("a.test")
    site.page("/", links=["/slow"])
    site.raw("/slow", Pause(WAIT_S))
    program = Path(sys.executable).with_name("gossamer")
    words = ["crawl", f"{web.base_url}/", "--delay", "0s", "--dir", "d", "-o", name]
    with subprocess.Popen([program, *words], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            web.wait_for_requests(3)  # robots.txt, the page, the slow one
            expected = {"target": f"{tmp_path}/{name}", "written": 1, "results": 1}
            give_up_at = time.monotonic() + WAIT_S
            while outputs(gossamer, ["--dir", "d"]) != [expected | {"finished": False}]:
                assert time.monotonic() < give_up_at
        finally:
            os.kill(process.pid, signal.SIGKILL)
    told = gossamer("status", "--dir", "d").stdout
    assert f"  outputs     in progress  1 of 1 result  {tmp_path}/{name}\n" in told
