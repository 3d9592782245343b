"""What a worker had received when it was killed counts: a crawl ends by its byte budget."""

import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Repeat, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
MOMENT_S = 0.15


@pytest.mark.req("D14", "D16")
def test_killed_workers_use_the_budget_up(gossamer: "Gossamer", web: Web, tmp_path: Path) -> None:
    """Each time a page is begun its worker is killed: without a budget that would never end."""
    web.site("127.0.0.1").raw("/", HTML, Repeat(b"x" * 10_000, every_s=0.01))
    limits = ["--max-bytes", "200kB", "--delay", "0s", "--workers", "1", "--ignore-robots"]
    command = ["crawl", f"{web.base_url}/", "--dir", str(tmp_path), *limits, "127.0.0.1"]
    run = gossamer.start(*command)
    kills = 0
    while not run.has_ended:
        seen = len(web.requests)
        run.wait_for(lambda seen=seen: len(web.requests) > seen)  # type: ignore[misc]
        begun_at = time.monotonic()
        run.wait_for(lambda: time.monotonic() >= begun_at + MOMENT_S)  # noqa: B023
        for worker in run.workers:
            kills += 1
            os.kill(worker, signal.SIGKILL)
        assert kills < 20, "what they have received is not counted"
    run.succeed()
    output = " ".join(run.output.split())
    assert "the byte budget (--max-bytes 200kB) was reached; 1 URL waiting" in output
    received = re.search(r"(\d+) kB received", output)
    assert received is not None
    assert int(received[1]) <= 200
