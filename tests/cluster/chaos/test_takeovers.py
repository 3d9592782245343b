"""The frontier changes again and again while workers that have joined go on."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from redis_servers import wait_until
from tests.cluster.chaos.test_clocks import skewed
from tests.cluster.conftest import result_in_one_process
from tests.cluster.crawl_result import impolite
from tests.cluster.small_web import LEAVES

from gossamer.stores.redis.lead import LEAD_S, LeadHolder, read_holder
from gossamer.stores.redis.row_keys import RowKeys

if TYPE_CHECKING:
    from redis_servers import RedisServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.process_crawl import GossamerProcess, ProcessCrawl

    from gossamer.testing import Web

HOUR_S = 3600
DELAY_S = 0.4
BUSY_S = 2.0
"""How much longer than the lead lasts a change may take on a busy machine."""


class Takeovers(msgspec.Struct, frozen=True):
    """How often the frontier changes, and what is crawled meanwhile."""

    count: int = 3
    every_s: float = 1.0
    leaves_each: int = LEAVES


@pytest.fixture
def takeovers(request: pytest.FixtureRequest) -> Takeovers:
    """A few of them at once, or those of `--takeover-minutes`."""
    minutes: float = request.config.getoption("--takeover-minutes")
    if not minutes:
        return Takeovers()
    # A host is asked at most 2.5 times a second, and less when nobody leads.
    return Takeovers(round(minutes * 3), 20.0, LEAVES + round(110 * minutes))


class Frontiers:
    """The command that begins a crawl, and processes that stand by for it or lead it.

    Each has another idea of what time it is.
    """

    def __init__(self, crawl: "ProcessCrawl", server: "RedisServer", folder: Path) -> None:
        self._crawl = crawl
        self._server = server
        self._lead = RowKeys(crawl.name).lead
        self._clocks = [skewed(folder, skew_s) for skew_s in (-HOUR_S, HOUR_S, 0)]
        self._runs = [crawl.crawl(workers=0, delay_s=DELAY_S, lease_s=30.0)]
        self._stopped: list[tuple[float, int]] = []

    def start(self) -> None:
        """Start one more."""
        clock = self._clocks[len(self._runs) % len(self._clocks)]
        self._runs.append(self._crawl.run("frontier", **clock))

    def leader(self) -> LeadHolder | None:
        """Return who leads; None: nobody does."""
        with self._server.client as client:
            return read_holder(client.get(self._lead))

    def change(self, stop: "Callable[[GossamerProcess], None]") -> float:
        """Stop the one that leads; return after how long another one has led, by the server."""
        leads = self.leader()
        assert leads is not None, self._crawl.everything_said()
        run = next(one for one in self._runs if one.pid == leads.pid)
        stopped_at = self._now()
        stop(run)
        following: list[LeadHolder] = []

        def has_changed() -> bool:
            holder = self.leader()
            if holder is not None and holder.token != leads.token:
                following.append(holder)
            return bool(following)

        wait_until(has_changed)
        return following[0].since - stopped_at

    def _now(self) -> float:
        with self._server.client as client:
            seconds, micros = client.time()
        return float(seconds + micros / 1e6)

    def kill(self, run: "GossamerProcess") -> None:
        """End a process for good, and start another."""
        run.signal(signal.SIGKILL)
        run.end()
        self.start()

    def pause(self, run: "GossamerProcess") -> None:
        """Let a process stand still until others have led for a while."""
        run.signal(signal.SIGSTOP)
        self._stopped.append((time.monotonic() + 2 * LEAD_S, run.pid))

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
            if run.end() != -signal.SIGKILL:
                assert "the crawl is over" in run.succeed()


def take_over_often(
    crawl: "ProcessCrawl", frontiers: Frontiers, rng: random.Random, takeovers: Takeovers
) -> list[float]:
    """Crawl with two commands that have joined, and change the frontier; return how long it took.

    The command that began the crawl is killed first.
    """
    workers = [crawl.worker("--workers", 2), crawl.worker()]
    crawl.await_requests(6)
    for _ in range(2):
        frontiers.start()
    crawl.await_words_of_all("stands by")
    took = [frontiers.change(frontiers.kill)]
    status = json.loads(crawl.ask("status", "--json").succeed())
    leads = frontiers.leader()
    assert leads is not None
    assert f"process {leads.pid} on" in status["led_by"]
    for _ in range(takeovers.count):
        time.sleep(rng.uniform(0.5, 1.0) * takeovers.every_s)
        frontiers.wake()
        took.append(frontiers.change(rng.choice([frontiers.kill, frontiers.pause])))
    frontiers.wake(all_of_them=True)
    for worker in workers:
        assert worker.end(60.0 + takeovers.every_s * takeovers.count) == 0, worker.output
    frontiers.end()
    crawl.await_gone()
    return took


@pytest.mark.timeout(1800)
@pytest.mark.req("B1", "B2", "B3", "D16", "D17")
def test_the_frontier_changes_while_workers_go_on(
    chaos_seed: int,
    takeovers: Takeovers,
    make_web: "Callable[..., Web]",
    make_crawl: "MakeCrawl",
    server: "RedisServer",
    tmp_path: Path,
) -> None:
    """No request is too soon or overlaps another, nothing is lost or done twice, and all depths are
    exact.
    """
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    web = make_web(takeovers.leaves_each)
    crawl = make_crawl(server.url, web)
    took = take_over_often(crawl, Frontiers(crawl, server, tmp_path), rng, takeovers)
    print("the lead has changed after", *(f"{seconds:.2f}" for seconds in took), "s")
    assert max(took) < LEAD_S + BUSY_S
    assert crawl.result() == result_in_one_process(tmp_path, takeovers.leaves_each)
    assert impolite(web.requests, DELAY_S) == []
    asked = Counter((one.host, one.path) for one in web.requests)
    again = {path for (_, path), count in asked.items() if count > 1}
    assert again <= {"/flaky", "/robots.txt"}, "workers that live keep what they have in progress"
    crawl.verify()
