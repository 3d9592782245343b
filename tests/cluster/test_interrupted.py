"""A command that waits for its server, for its crawl or for the lead ends with the first Ctrl-C."""

import signal
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from redis_servers import LOOPBACK, PATIENCE_S

if TYPE_CHECKING:
    from redis_servers import RedisServer
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.process_crawl import GossamerProcess, ProcessCrawl

AWAY = "The store does not answer"
LEAVES_WITHIN_S = 4.0
"""Who leaves at once still has to end its process, on a machine where others are at work."""

every_command = pytest.mark.parametrize(
    ("words", "code"),
    [(("crawl", "http://a.localhost/"), 130), (("worker",), 0), (("frontier",), 0)],
    ids=["crawl", "worker", "frontier"],
)


def interrupt(run: "GossamerProcess") -> int:
    """Send one signal; return the exit code."""
    run.signal(signal.SIGINT)
    code = run.end(LEAVES_WITHIN_S)
    assert "nothing is in progress: stopping at once" in run.output
    assert "finishing what is in progress" not in run.output
    assert "Traceback" not in run.output
    return code


@pytest.mark.req("B1")
@every_command
def test_while_its_server_is_away(
    server: "RedisServer", make_crawl: "MakeCrawl", words: tuple[str, ...], code: int
) -> None:
    crawl = make_crawl(server.url)
    server.kill()
    run = crawl.run(*words)
    crawl.await_words(run, AWAY)
    assert interrupt(run) == code


@pytest.mark.req("B1")
@every_command
def test_while_its_server_takes_the_connection_and_is_silent(
    make_crawl: "MakeCrawl", words: tuple[str, ...], code: int
) -> None:
    with closing(socket.create_server((LOOPBACK, 0))) as listening:
        listening.settimeout(PATIENCE_S)
        run = make_crawl(f"redis://{LOOPBACK}:{listening.getsockname()[1]}").run(*words)
        with closing(listening.accept()[0]):
            assert interrupt(run) == code


@pytest.mark.req("B1")
def test_while_another_process_leads_the_crawl(crawl: "ProcessCrawl") -> None:
    """That one goes on, and ends in order."""
    run = crawl.crawl(workers=1, delay_s=1.0)
    crawl.await_requests(3)
    standby = crawl.run("frontier")
    crawl.await_words(standby, "stands by for the crawl")
    assert interrupt(standby) == 0
    assert "left the crawl" in standby.output
    for command in (("crawl", "http://a.localhost/"), ("replay", "--module", "noop")):
        waiting = crawl.run(*command)
        crawl.await_words(waiting, "checking whether another process runs this crawl")
        assert interrupt(waiting) == 130
    asked = len(crawl.web.requests)
    crawl.await_requests(asked + 2)
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert "finishing what is in progress" in run.output
    crawl.verify()


@pytest.mark.req("B1")
def test_who_stands_by_while_the_server_is_away(
    server: "RedisServer", crawl: "ProcessCrawl"
) -> None:
    run = crawl.crawl(workers=0)
    standby = crawl.run("frontier")
    crawl.await_words(standby, "stands by for the crawl")
    run.signal(signal.SIGKILL)
    run.end()
    server.kill()
    crawl.await_words(standby, AWAY)
    assert interrupt(standby) == 0
