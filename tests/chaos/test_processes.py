"""The processes of a command: whichever of them ends or stands still, nobody is left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from process_tree import children, descendants, is_alive, kill_all

from gossamer.cli.signals import ECHO_S
from gossamer.coordinator.processes.launcher import MOST_DEATHS
from gossamer.testing import Reply, Web
from gossamer.testing.traffic import traffic_of

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer, GossamerRun

PAGES = 60
PRINTING = """\
class Printing:
    def page(self, page):
        print("page", page.id, "x" * 10_000)
"""


class SlowCrawl:
    """A crawl of pages that take a moment each, by one command, and what must come of it."""

    def __init__(self, gossamer: "Gossamer", web: Web, directory: Path) -> None:
        self._gossamer = gossamer
        self._web = web
        self._directory = directory
        site = web.site("127.0.0.1")
        self._paths = [f"/{number}" for number in range(PAGES)]
        site.page("/", links=self._paths)
        for path in self._paths:
            site.reply(path, Reply(body=path, delay_s=0.05))
        options = ["--module", "save", "--delay", "0s", "--host-connections", "4"]
        self.command = ["crawl", f"{web.base_url}/", "--dir", str(directory), *options]

    def start(self, *options: object) -> "GossamerRun":
        """Begin the crawl or go on with it, with two workers; return once it is under way."""
        seen = len(self._web.requests)
        run = self._gossamer.start(*self.command, "--workers", 2, *options)
        run.wait_for(lambda: len(self._web.requests) >= seen + 8 and len(run.workers) == 2)
        return run

    def finish(self) -> None:
        """Go on to the end."""
        self._gossamer.start(*self.command, "--workers", 2).succeed()
        self.check()

    def check(self) -> None:
        """Every page was saved once, and the site was never asked for more than allowed."""
        asked = Counter(record.path for record in self._web.requests)
        assert set(asked) == {"/robots.txt", "/", *self._paths}
        assert traffic_of(self._web.requests, time.monotonic()).most_at_once <= 4
        files = [one for one in (self._directory / "pages").iterdir() if one.name[0] != "."]
        assert sorted(int(one.name) for one in files) == [*range(1, PAGES + 2)]
        assert len({one.read_text().partition("\n")[0] for one in files}) == PAGES + 1
        self._gossamer.start("verify", "--dir", self._directory).succeed()


@pytest.fixture
def slow(gossamer: "Gossamer", web: Web, tmp_path: Path) -> SlowCrawl:
    return SlowCrawl(gossamer, web, tmp_path)


def await_gone(pids: list[int], within_s: float) -> None:
    """Wait until none of the processes is there."""
    deadline = time.monotonic() + within_s
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"{left} of {pids} are left after {within_s:g} s"
        time.sleep(0.005)


def is_silent(web: Web, moment_s: float = 0.5) -> bool:
    """Tell whether nobody asks the web for anything for a moment."""
    before = len(web.requests)
    time.sleep(moment_s)  # silence can only be waited for
    return len(web.requests) == before


@pytest.mark.req("B1", "B3", "B10", "D16")
def test_the_coordinator_is_killed_and_nobody_goes_on_without_it(slow: SlowCrawl, web: Web) -> None:
    run = slow.start()
    others = descendants(run.pid)
    assert len(others) == 3, "a launcher and two workers"
    run.signal(signal.SIGKILL)
    assert run.was_killed()
    await_gone(others, 2.0)
    assert is_silent(web)
    slow.finish()


@pytest.mark.req("B1", "B3", "B10", "D16")
def test_the_coordinator_and_the_launcher_are_killed_and_no_worker_goes_on(
    slow: SlowCrawl, web: Web
) -> None:
    """Nobody is left to end them: they notice by themselves that they are alone."""
    run = slow.start()
    others = descendants(run.pid)
    kill_all([run.launcher, run.pid])
    run.end()
    await_gone(others, 2.0)
    assert is_silent(web)
    slow.finish()


@pytest.mark.req("B1", "B3")
def test_a_worker_that_stands_still_as_the_coordinator_is_killed_is_ended(
    slow: SlowCrawl, web: Web
) -> None:
    """It cannot notice anything; the launcher ends it, and the same command waits for that."""
    run = slow.start()
    others = descendants(run.pid)
    os.kill(run.workers[0], signal.SIGSTOP)
    run.signal(signal.SIGKILL)
    assert run.was_killed()
    slow.finish()
    await_gone(others, 0.1)


@pytest.mark.req("B1", "B10", "D16")
def test_a_launcher_that_keeps_dying_ends_the_command_with_words(slow: SlowCrawl, web: Web) -> None:
    run = slow.start()
    others: set[int] = set()
    for _ in range(MOST_DEATHS):
        run.wait_for(lambda: bool(children(run.pid)))
        others.update(descendants(run.pid))
        launcher = run.launcher
        os.kill(launcher, signal.SIGKILL)
        run.wait_for(lambda: launcher not in children(run.pid))  # noqa: B023
    assert run.end() == 1
    assert run.output.splitlines()[-1] == (
        "gossamer: the process that starts the workers keeps dying: run the same command again, "
        "which continues"
    )
    assert "Traceback" not in run.output
    await_gone([*others], 0.1)
    assert is_silent(web)
    slow.finish()


@pytest.mark.req("B1")
def test_a_worker_that_is_asked_to_leave_does_so_in_order(slow: SlowCrawl, web: Web) -> None:
    """What it has in progress comes to its end, so nothing is asked for twice."""
    run = slow.start()
    leaving = run.workers[0]
    os.kill(leaving, signal.SIGTERM)
    run.wait_for(lambda: not is_alive(leaving))
    run.succeed()
    assert "signal" not in run.output
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert set(asked.values()) == {1}
    slow.check()


@pytest.mark.req("B1", "B10", "D16")
def test_a_worker_that_stands_still_is_ended_and_replaced(
    gossamer: "Gossamer", other_gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """Its process id is that which `gossamer status` shows; the other worker goes on meanwhile."""
    for name in ("a.test", "b.test"):
        site = web.site(name)
        site.page("/", links=[f"/{number}" for number in range(40)], text=name)
        for number in range(40):
            site.page(f"/{number}", text=f"{name} {number}")
    seeds = [f"http://{name}/" for name in ("a.test", "b.test")]
    options = ["--delay", "150ms", "--workers", 2, "--lease", "6s", "--dir", tmp_path]
    command = ["crawl", *seeds, *options, "--allow-network", "127.0.0.1/32"]
    run = gossamer.start(*command, dns=dict(web.dns))

    def listed() -> list[int]:
        told = other_gossamer.start("status", "--dir", tmp_path, "--json")
        told.succeed()
        return [one["pid"] for one in json.loads(told.output)["workers"]]

    run.wait_for(lambda: tmp_path.joinpath("crawl.sqlite").exists() and len(web.requests) >= 8)
    run.wait_for(lambda: None not in listed() and sorted(listed()) == sorted(run.workers))
    stalled = run.workers[0]  # who was listed may be missing in the next moment
    os.kill(stalled, signal.SIGSTOP)
    stopped_at = time.monotonic()
    run.wait_for(lambda: not is_alive(stalled))
    ended_at = time.monotonic()
    run.succeed()
    assert re.search(r"worker \d+ was silent for 5 s: ended", run.output)
    assert re.search(r"worker \d+ died \(signal 9\) and is replaced", run.output)
    meanwhile = Counter(one.host for one in web.requests if stopped_at < one.started < ended_at)
    assert max(meanwhile.values()) >= 20, "the host of the other worker"
    asked = Counter((record.host, record.path) for record in web.requests)
    assert len(asked) == 2 * 42
    assert asked.total() <= len(asked) + 2, "what it had in progress, and robots.txt"
    traffic = traffic_of(web.requests, time.monotonic())
    assert min(host.min_gap_s or 0 for host in traffic.hosts.values()) >= 0.15
    gossamer.start("verify", "--dir", tmp_path).succeed()


@pytest.mark.req("B1")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nobody_behind(number: signal.Signals, slow: SlowCrawl, web: Web) -> None:
    run = slow.start()
    others = descendants(run.pid)
    run.signal(number)
    assert run.end() == 130, run.output
    await_gone(others, 0.1)
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    slow.finish()
    again = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert {again[path] for path in asked} == {1}, "what was in progress was finished"


@pytest.mark.req("B1")
def test_a_second_signal_ends_it_within_seconds(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """Whatever the pages are waiting for: a server, or a module that does not give up."""
    site = web.site("127.0.0.1")
    site.page("/", links=["/endless", "/hanging"])
    site.reply("/endless", Reply(body="late", delay_s=30))
    site.page("/hanging")
    hanging = tmp_path / "hanging.py"
    hanging.write_text(
        "import time\n"
        "class Hanging:\n"
        "    def page(self, page):\n"
        "        if page.url.endswith('/hanging'):\n"
        "            print('hanging', flush=True)\n"
        "            time.sleep(30)\n"
    )
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path / "crawl", "--delay", "0s"]
    run = gossamer.start(*command, "--host-connections", 2, "--module", f"{hanging}:Hanging")
    run.wait_for(lambda: "hanging" in run.output and len(web.requests) == 4)
    others = descendants(run.pid)
    run.signal(signal.SIGINT)
    run.wait_for(lambda: "press Ctrl-C again to quit now" in run.output)
    time.sleep(ECHO_S)  # sooner it would count as the first
    run.signal(signal.SIGINT)
    asked_at = time.monotonic()
    assert run.end() == 130, run.output
    assert time.monotonic() - asked_at < 3.0
    await_gone(others, 0.1)


@pytest.mark.req("B1")
def test_a_terminal_that_is_closed_ends_it_in_order(slow: SlowCrawl, web: Web) -> None:
    """A real one: the kernel sends SIGHUP, and whoever writes to it is told of an error."""
    ours, theirs = os.openpty()
    # Opened by the leader of a session, it becomes the terminal of that session.
    script = 'exec "$@" <"$TERMINAL" >"$TERMINAL" 2>&1'
    words = [sys.executable, "-m", "gossamer", *slow.command, "--workers", "2"]
    with subprocess.Popen(
        ["sh", "-c", script, "sh", *words],
        env={**os.environ, "TERMINAL": os.ttyname(theirs)},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        web.wait_for_requests(8, 30)
        others = descendants(process.pid)
        assert len(others) == 3
        os.close(ours)
        code = process.wait(20)
    assert code == 130
    await_gone(others, 0.1)
    slow.finish()


def closed() -> int:
    """Return a descriptor that nobody reads from."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full() -> int:
    """Return a descriptor to which nothing can be written."""
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.req("B1")
@pytest.mark.parametrize("output", [closed, full])
@pytest.mark.parametrize("options", [(), ("--verbose",), ("--log-format", "json")])
def test_output_that_nobody_reads_does_not_end_the_crawl(
    output: Callable[[], int], options: tuple[str, ...], slow: SlowCrawl, tmp_path: Path
) -> None:
    """Also that of a module, which a worker sends to the coordinator."""
    module = tmp_path / "printing.py"
    module.write_text(PRINTING)
    words = [*slow.command, "--workers", "2", *options, "--module", f"{module}:Printing"]
    to = output()
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", *words],
        stdout=to,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(to)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    slow.check()


@pytest.mark.req("B1")
def test_without_standard_streams_it_crawls(slow: SlowCrawl) -> None:
    words = [sys.executable, "-m", "gossamer", *slow.command, "--workers", "2"]
    script = 'exec "$@" <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", script, "sh", *words], check=False).returncode == 0
    slow.check()
