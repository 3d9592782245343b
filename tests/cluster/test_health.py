"""`gossamer health`, as probes call it: by its exit code."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from redis_servers import wait_until

if TYPE_CHECKING:
    from forked_commands import Finished, ForkedCommands
    from redis_servers import RedisServer, StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.process_crawl import ProcessCrawl

    from gossamer.testing import Web


def test_health_of_a_crawl_that_runs(crawl: "ProcessCrawl") -> None:
    assert "has not begun" in crawl.ask("health").succeed()
    crawl.crawl(delay_s=1.0)
    crawl.await_requests(5)
    assert f"holds the crawl {crawl.name}" in crawl.ask("health").succeed()
    assert "has a frontier" in crawl.ask("health", "--role", "frontier").succeed()
    assert "has 2 workers" in crawl.ask("health", "--role", "worker").succeed()
    assert "worker 0 of" in crawl.ask("health", "--role", "worker", "--id", 0).succeed()
    unknown = crawl.ask("health", "--role", "worker", "--id", 77)
    assert unknown.code == 1
    assert "worker 77" in unknown.output


def test_the_only_crawl_of_a_store_needs_no_name(
    start_server: "StartServer", web: "Web", tmp_path: Path, forked: "ForkedCommands"
) -> None:
    variables = os.environ | {"GOSSAMER_STORE": start_server().url}

    def ask(*words: object) -> "Finished":
        given = ["gossamer", *map(str, words)]
        return forked.run(given, cwd=tmp_path, env=variables, timeout=50)

    assert "the store has no crawl" in ask("health").stderr
    crawl = ("crawl", web.base_url, "--max-pages", "1", "--delay", "0s", "--name")
    assert ask(*crawl, "one").returncode == 0
    assert "holds the crawl one" in ask("health").stdout
    joined = ask("worker")
    assert (joined.returncode, "the crawl is over" in joined.stderr) == (0, True)
    assert ask(*crawl, "two").returncode == 0
    refused = ask("health")
    assert refused.returncode == 2
    assert "name one of one, two with --name" in refused.stderr


def test_health_of_a_crawl_whose_processes_are_gone(crawl: "ProcessCrawl") -> None:
    run = crawl.crawl()
    crawl.await_requests(10)
    run.signal(signal.SIGINT)
    assert run.end() == 130
    for role in ("frontier", "worker"):
        probe = crawl.ask("health", "--role", role)
        assert probe.code == 1
        assert f"of the crawl {crawl.name}" in probe.output
    crawl.ask("health").succeed()


def test_a_frontier_that_was_killed_is_missed_within_seconds(crawl: "ProcessCrawl") -> None:
    """That of the command, and then one that would have stood by."""
    run = crawl.crawl(workers=0)
    wait_until(lambda: "has a frontier" in crawl.ask("health", "--role", "frontier").output)
    run.signal(signal.SIGKILL)
    run.end()
    crawl.await_health(1, "--role", "frontier")
    other = crawl.run("frontier")
    crawl.await_health(0, "--role", "frontier")
    other.signal(signal.SIGKILL)
    crawl.await_health(1, "--role", "frontier")


def test_health_of_a_store_that_is_not_there(
    server: "RedisServer", make_crawl: "MakeCrawl"
) -> None:
    crawl = make_crawl(server.url)
    server.kill()
    probe = crawl.ask("health")
    assert probe.code == 1
    assert str(server.socket) in probe.output
    assert "Traceback" not in probe.output
