"""The password of the store is nobody's business: not in what is printed, not in the arguments."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Web

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.process_crawl import ProcessCrawl

PASSWORD = "s3cretword"  # noqa: S105 -- the tests' own
SETTINGS = ("appendonly yes", "appendfsync always", f"requirepass {PASSWORD}")


def arguments(crawl: "ProcessCrawl") -> bytes:
    """Return the arguments of every process of a crawl, as anybody on the machine can."""
    crawl.await_workers(2)
    pids = crawl.processes()
    assert len(pids) >= 4, "the command, its launcher, and two workers"
    return b"\n".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


def test_a_password_in_the_environment_is_seen_nowhere(
    start_server: "StartServer", make_crawl: "MakeCrawl"
) -> None:
    server = start_server(*SETTINGS)
    crawl = make_crawl(server.url.replace("//", f"//:{PASSWORD}@"))
    run = crawl.crawl("--verbose", delay_s=0.4)  # it must not end before it is interrupted
    crawl.await_requests(10)
    assert PASSWORD.encode() not in arguments(crawl)
    crawl.ask("health").succeed()
    os.kill(crawl.workers()[0], signal.SIGKILL)
    server.kill()
    time.sleep(0.2)
    server.start()
    crawl.await_requests(30)
    run.signal(signal.SIGINT)
    assert run.end() == 130
    crawl.verify()
    crawl.ask("status").succeed()
    server.kill()
    for command in ("health", "verify"):
        assert crawl.run(command).end() == 1
    waiting = crawl.run("crawl", "http://a.localhost/")  # for the server, for a minute
    crawl.await_words(waiting, "The store does not answer")
    waiting.signal(signal.SIGINT)
    assert waiting.end() == 130
    said = crawl.everything_said()
    assert "***" in said
    assert PASSWORD not in said


def test_a_password_among_the_arguments_is_not_repeated(
    start_server: "StartServer", make_crawl: "MakeCrawl"
) -> None:
    """Whoever wrote it there has been warned; the words about how to go on hide it."""
    server = start_server(*SETTINGS)
    crawl = make_crawl("memory:")
    address = server.url.replace("//", f"//:{PASSWORD}@")
    run = crawl.crawl("--store", address)
    crawl.await_requests(5)
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert "***" in run.output
    assert PASSWORD not in run.output
    wrong = crawl.ask("health", "--store", address.replace(PASSWORD, "wr0ngword"))
    assert wrong.code == 1
    assert "wr0ngword" not in wrong.output


@pytest.mark.parametrize("is_in_environment", [True, False])
def test_the_commands_that_are_printed_can_be_pasted(
    start_server: "StartServer", tmp_path: Path, is_in_environment: bool
) -> None:
    address = start_server(*SETTINGS).url.replace("//", f"//:{PASSWORD}@")
    variables = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(command: str, **more: str) -> subprocess.CompletedProcess[str]:
        words = ["sh", "-c", command]
        return subprocess.run(
            words, check=False, cwd=tmp_path, env=variables | more, capture_output=True, text=True
        )

    with Web() as web:
        web.site("127.0.0.1").page("/", ["/1"])
        web.site("127.0.0.1").page("/1")
        command = f"gossamer crawl {web.base_url} --delay 0s --name n --max-pages 1"
        if is_in_environment:
            ended = run(command, GOSSAMER_STORE=address)
        else:
            ended = run(f"{command} --store {address}")
            assert "# with GOSSAMER_STORE set to unix://:***@" in ended.stderr
        commands = re.findall("gossamer (?:pages|replay|resume) .*", ended.stderr)
        assert len(commands) == 3, ended.stderr
        for one in commands:
            pasted = run(one, GOSSAMER_STORE=address)
            assert pasted.returncode == 0, (one, pasted.stderr)
    assert PASSWORD not in ended.stderr
