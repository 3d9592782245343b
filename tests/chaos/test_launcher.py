"""kill -9 of the process that starts the workers: it is replaced, and the crawl goes on."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from process_tree import children, descendants, is_alive, writers_of

from gossamer.testing import Reply, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer, GossamerRun

HOSTS = ("a.test", "b.test", "c.test")
PAGES = 30
DELAY_S = 0.2
COSTS_S = 2.0
"""How long the hosts of the dead may be left alone, beside their usual pause."""
BUSY_S = 1.0
"""What a machine where others are at work may add: the libraries of a launcher are loaded again."""
WORDS = "the process that starts the workers died: it is replaced, with all that it had started"


class LaunchedCrawl:
    """A crawl of a few hosts by one command, in either store."""

    def __init__(
        self, gossamer: "Gossamer", other: "Gossamer", web: Web, folder: Path, store: str | None
    ) -> None:
        self._gossamer = gossamer
        self._other = other
        self.web = web
        self.folder = folder
        for name in HOSTS:
            web.site(name).page("/", links=[f"/{number}" for number in range(PAGES)], text=name)
            for number in range(PAGES):
                web.site(name).reply(f"/{number}", Reply(body=f"{name} {number}", delay_s=0.05))
        self.where = ["--dir", str(folder / "crawl")]
        if store:
            self.where = ["--store", store, "--name", secrets.token_hex(4)]

    def start(self, *options: object) -> "GossamerRun":
        """Begin the crawl, with two workers; return once both are known."""
        seeds = [f"http://{name}/" for name in HOSTS]
        pace = ["--delay", f"{DELAY_S * 1000:g}ms", "--workers", 2, "--lease", "30s"]
        place = [] if "--dir" in self.where else ["--dir", self.folder / "crawl"]
        words = [*seeds, *pace, *self.where, *place, "--allow-network", "127.0.0.1/32", *options]
        run = self._gossamer.start("crawl", *words, dns=dict(self.web.dns))
        run.wait_for(lambda: len(self.web.requests) >= 8)
        run.wait_for(lambda: {*self.listed().values()} == {*run.workers})
        return run

    def listed(self) -> dict[int, int]:
        """Return the process ids of the workers by their numbers, as `gossamer status` has them."""
        told = self._other.start("status", "--json", *self.where[-2:], *self.where[:-2])
        told.succeed()
        return {one["number"]: one["pid"] for one in json.loads(told.output)["workers"]}

    def check(self) -> None:
        """Every page was asked for, by one at a time and with pauses, and is there once."""
        for name in HOSTS:
            records = self.web.requests_to(name)
            assert len({one.path for one in records}) == PAGES + 2
        self._other.start("verify", *self.where).succeed()


@pytest.fixture(params=["sqlite", "redis"])
def launched(
    request: pytest.FixtureRequest,
    gossamer: "Gossamer",
    other_gossamer: "Gossamer",
    web: Web,
    tmp_path: Path,
) -> LaunchedCrawl:
    store = request.getfixturevalue("redis_url") if request.param == "redis" else None
    return LaunchedCrawl(gossamer, other_gossamer, web, tmp_path, store)


def kill_launcher(run: "GossamerRun") -> list[int]:
    """Kill it; return it and all that it had started, once they are gone."""
    dead = descendants(run.pid)
    os.kill(run.launcher, signal.SIGKILL)
    run.wait_for(lambda: not any(is_alive(pid) for pid in dead))
    return dead


@pytest.mark.req("B1", "B3", "B10", "D16")
def test_its_workers_are_ended_and_others_go_on_under_their_numbers(
    launched: LaunchedCrawl,
) -> None:
    """Also one that stands still; what they had is asked for again at once, and not too soon."""
    run = launched.start("-o", launched.folder / "pages.jsonl")
    assert sorted(launched.listed()) == [0, 1]
    os.kill(run.workers[0], signal.SIGSTOP)
    killed_at = time.monotonic()
    dead = kill_launcher(run)
    assert len(dead) == 4, "the launcher, two workers and the writer"
    gone_at = time.monotonic()
    run.wait_for(lambda: len(run.workers) == 2 and len(writers_of(run.pid)) == 1)
    run.wait_for(lambda: {*launched.listed().values()} == {*run.workers})
    assert sorted(launched.listed()) == [0, 1]
    run.succeed()
    assert run.output.count(WORDS) == 1
    assert run.output.count("is replaced") == 1
    costs_s = {}
    for name in HOSTS:
        records = launched.web.requests_to(name)
        pauses = [after.started - before.ended for before, after in pairwise(records)]
        cut = [one for one in records if one.started <= gone_at and one.ended >= killed_at]
        uncut = [pause for record, pause in zip(records, pauses, strict=False) if record not in cut]
        assert min(uncut) >= DELAY_S
        later = [one.started for one in records if one.started > gone_at]
        assert gone_at + DELAY_S - 0.03 <= later[0]
        costs_s[name] = later[0] - killed_at - DELAY_S
    print("left alone beside the pause:", costs_s)
    assert max(costs_s.values()) <= COSTS_S + BUSY_S
    asked = Counter((record.host, record.path) for record in launched.web.requests)
    assert asked.total() <= len(asked) + 2 * len(HOSTS), "what they had in progress, and robots.txt"
    rows = (launched.folder / "pages.jsonl").read_text().splitlines()
    assert len({json.loads(row)["url"] for row in rows}) == len(rows) == len(HOSTS) * (PAGES + 1)
    launched.check()


@pytest.mark.req("B1", "D16")
def test_a_worker_that_dies_costs_its_hosts_little(launched: LaunchedCrawl) -> None:
    run = launched.start()
    for pid in run.workers:  # each host is one of either
        asked = len(launched.web.requests)
        os.kill(pid, signal.SIGKILL)
        run.wait_for(lambda: len(launched.web.requests) >= asked + 8)  # noqa: B023
    run.succeed()
    costs_s = {}
    for name in HOSTS:
        starts = [one.started for one in launched.web.requests_to(name)]
        costs_s[name] = max(after - before for before, after in pairwise(starts)) - DELAY_S
    print("left alone beside the pause:", costs_s)
    assert max(costs_s.values()) <= COSTS_S + BUSY_S
    launched.check()


@pytest.mark.req("B1", "D16")
def test_a_worker_and_then_the_launcher(launched: LaunchedCrawl) -> None:
    """The numbers stay those of the first workers, whoever died how often."""
    run = launched.start()
    for _ in range(2):
        (number, pid), *_ = launched.listed().items()
        os.kill(pid, signal.SIGKILL)
        run.wait_for(lambda: launched.listed().get(number) not in {None, pid})  # noqa: B023
        kill_launcher(run)
        run.wait_for(lambda: {*launched.listed().values()} == {*run.workers})
        run.wait_for(lambda: len(run.workers) == 2)
        assert sorted(launched.listed()) == [0, 1]
    run.succeed()
    launched.check()


@pytest.mark.req("B1")
def test_a_signal_that_comes_meanwhile_leaves_nobody_behind(launched: LaunchedCrawl) -> None:
    run = launched.start()
    others = descendants(run.pid)
    os.kill(run.launcher, signal.SIGKILL)
    run.signal(signal.SIGINT)
    while not run.has_ended:
        others += descendants(run.pid)
        time.sleep(0.01)
    assert run.end() == 130, run.output
    assert [pid for pid in others if is_alive(pid)] == []
    assert run.output.count("is replaced") <= 1
    assert "Traceback" not in run.output


def test_a_module_is_found_again_where_the_command_had_found_it(web: Web, tmp_path: Path) -> None:
    """In the working directory, which `python -m` has put on the path."""
    (tmp_path / "mine.py").write_text("class Mine:\n    def page(self, page):\n        pass\n")
    site = web.site("127.0.0.1")
    site.page("/", links=[f"/{number}" for number in range(20)])
    for number in range(20):
        site.page(f"/{number}")
    words = ["crawl", f"{web.base_url}/", "--delay", "100ms", "--module", "mine:Mine"]
    with subprocess.Popen(
        [sys.executable, "-m", "gossamer", *words, "--dir", "crawl"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        web.wait_for_requests(8, 30)
        (launcher,) = children(process.pid)
        os.kill(launcher, signal.SIGKILL)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert WORDS in said
    assert len({one.path for one in web.requests}) == 22
