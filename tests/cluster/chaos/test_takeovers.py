"""The frontier changes again and again while workers that have joined go on."""

import json
import os
import random
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis_servers import wait_until
from tests.cluster.chaos.test_clocks import skewed
from tests.cluster.crawl_result import impolite

from gossamer.stores.redis.lead import LEAD_S

if TYPE_CHECKING:
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import GossamerProcess, ProcessCrawl

TAKEOVERS = 3
HOUR_S = 3600
DELAY_S = 0.4


def leader(crawl: "ProcessCrawl") -> int:
    """Return the process that leads; 0: none does."""
    status = json.loads(crawl.ask("status", "--json").succeed())
    found = re.search(r"process (\d+) on", status["led_by"] or "")
    return int(found.group(1)) if found else 0


class Frontiers:
    """Processes that stand by for a crawl or lead it, each with another idea of what time it is."""

    def __init__(self, crawl: "ProcessCrawl", folder: Path) -> None:
        self._crawl = crawl
        self._clocks = [skewed(folder, skew_s) for skew_s in (-HOUR_S, HOUR_S, 0)]
        self._runs: list[GossamerProcess] = []
        self._stopped: list[tuple[float, int]] = []

    def start(self) -> None:
        """Start one more."""
        clock = self._clocks[len(self._runs) % len(self._clocks)]
        self._runs.append(self._crawl.run("frontier", **clock))

    def change(self, rng: random.Random) -> float:
        """Kill or stop the one that leads; return how long nobody led."""
        leads = leader(self._crawl)
        run = next(one for one in self._runs if one.pid == leads)
        begun = time.monotonic()
        if rng.random() < 0.5:
            run.signal(signal.SIGKILL)
            run.end()
            self.start()
        else:
            run.signal(signal.SIGSTOP)
            self._stopped.append((begun + 2 * LEAD_S, leads))
        wait_until(lambda: leader(self._crawl) not in {0, leads})
        return time.monotonic() - begun

    def wake(self, *, all_of_them: bool = False) -> None:
        """Let those go on that stood still for long enough."""
        due = [pid for at, pid in self._stopped if all_of_them or at <= time.monotonic()]
        self._stopped = [(at, pid) for at, pid in self._stopped if pid not in due]
        for pid in due:
            os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """All of them learn that the crawl is over."""
        self.wake(all_of_them=True)
        for run in self._runs:
            if run.pid and run.end() != -signal.SIGKILL:
                assert "the crawl is over" in run.succeed()


def take_over_often(
    crawl: "ProcessCrawl", folder: Path, rng: random.Random, *, takeovers: int, every_s: float
) -> list[float]:
    """Crawl with two commands that have joined, and change the frontier; return how long it took.

    The command that began the crawl is killed first.
    """
    added = crawl.crawl(workers=0, delay_s=DELAY_S, lease_s=30.0)
    workers = [crawl.worker("--workers", 2), crawl.worker()]
    crawl.await_requests(6)
    frontiers = Frontiers(crawl, folder)
    for _ in range(3):
        frontiers.start()
    crawl.await_words_of_all("stands by")
    added.signal(signal.SIGKILL)
    added.end()
    wait_until(lambda: leader(crawl) not in {0, added.pid})
    took = []
    for _ in range(takeovers):
        time.sleep(rng.uniform(0.5, 1.0) * every_s)
        frontiers.wake()
        took.append(frontiers.change(rng))
    frontiers.wake(all_of_them=True)
    for worker in workers:
        assert worker.end(60.0 + 20 * takeovers) == 0, worker.output
    frontiers.end()
    crawl.await_gone()
    return took


@pytest.mark.timeout(180)
@pytest.mark.req("B1", "B2", "B3", "D16", "D17")
def test_the_frontier_changes_while_workers_go_on(
    chaos_seed: int, crawl: "ProcessCrawl", expected: "CrawlResult", tmp_path: Path
) -> None:
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    took = take_over_often(crawl, tmp_path, rng, takeovers=TAKEOVERS, every_s=1.0)
    assert max(took) < LEAD_S + 3.0, "an idle process loads a small crawl in no time"
    assert crawl.result() == expected
    assert impolite(crawl.web.requests, DELAY_S) == []
    asked = Counter((one.host, one.path) for one in crawl.web.requests)
    again = {path for (_, path), count in asked.items() if count > 1}
    assert again <= {"/flaky", "/robots.txt"}, "workers that live keep what they have in progress"
    crawl.verify()
