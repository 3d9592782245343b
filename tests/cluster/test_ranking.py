"""The key to the PageRank service reaches every frontier of a shared crawl, and nothing else."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from gossamer.testing import Web

if TYPE_CHECKING:
    from redis_servers import RedisServer
    from tests.cluster.conftest import MakeCrawl

pytestmark = pytest.mark.req("D4")

KEY = "s3cretkey"
VARIABLE = {"GOSSAMER_PAGERANK_KEY": KEY}


def everything_in(server: "RedisServer") -> bytes:
    """Return all that a server holds, as it would be written to its disk."""
    with Redis.from_url(server.url) as client:
        return b"".join(client.dump(name) or b"" for name in client.scan_iter())


def test_a_frontier_that_takes_over_ranks_with_a_key_of_its_own(
    server: "RedisServer", make_crawl: "MakeCrawl"
) -> None:
    """The scorer is chosen by the first process, because it has the key; the service refuses."""
    with Web() as service, Web() as web:
        service.site("127.0.0.1").status("/api/v1.0/getPageRank", 401)
        web.site("127.0.0.1").page("/", links=["http://a.invalid/", "http://b.invalid/"])
        crawl = make_crawl(server.url, web)
        command = [f"{web.base_url}/", "--scope", "any", "--delay", "0s", "--workers", 0]
        command += ["--pagerank-url", service.base_url, "--dir", crawl.folder]
        first = crawl.run("crawl", *command, **VARIABLE)
        crawl.await_health(0)
        without = crawl.run("frontier")
        assert without.end() == 2
        assert "set GOSSAMER_PAGERANK_KEY for each process that ranks" in without.output
        first.signal(signal.SIGKILL)
        frontier = crawl.run("frontier", **VARIABLE)
        crawl.worker(**VARIABLE)
        [request] = service.wait_for_requests(1, 60)
        assert request.headers.get("api-opr") == KEY
        crawl.await_words(frontier, "URLs are not ranked: Open PageRank: the service refused the")
        assert "(unranked=2)" in frontier.output
        assert frontier.succeed().count("not ranked") == 1
        status = crawl.ask("status").succeed()
        assert "2 URLs not ranked: Open PageRank: the service refused the key" in status
        assert KEY.encode() not in everything_in(server)
        assert KEY not in crawl.everything_said()
        arguments = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in crawl.processes()]
        assert KEY.encode() not in b"".join(arguments)
