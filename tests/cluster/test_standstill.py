"""The time in which hosts rest after a restart or a worker's death is shown as what it is."""

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from process_tree import workers_of
from redis_servers import wait_until
from tests.cluster.small_web import HOSTS

from gossamer.testing import KeepOpen, Raw

if TYPE_CHECKING:
    from redis_servers import RedisServer
    from tests.cluster.process_crawl import ProcessCrawl

LEASE_S = 30.0


@pytest.mark.req("B1", "D15")
def test_a_restart_of_the_store_and_a_worker_that_is_gone_are_told(
    server: "RedisServer", crawl: "ProcessCrawl"
) -> None:
    """The worker is in the middle of a page when its machine is gone.

    A coordinator that lives knows that its server has forgotten nothing; another one does not.
    """
    crawl.web.site(HOSTS[0]).reply("/", Raw([KeepOpen()]))
    run, joined = crawl.crawl(workers=0, lease_s=LEASE_S), crawl.worker()
    crawl.await_requests(2)  # robots.txt and the page
    for sent in (signal.SIGSTOP, signal.SIGKILL):  # none of them hears of the end of another
        for pid in (joined.pid, *workers_of(joined.pid)):
            os.kill(pid, sent)
    crawl.await_words(run, "s: worker 0 of 1 host is silent")
    assert "s: worker 0 of 1 host is silent" in crawl.ask("status").succeed()
    server.kill()
    run.signal(signal.SIGKILL)
    run.end()
    server.start()
    run = crawl.crawl(workers=0, lease_s=LEASE_S)
    wait_until(lambda: 20 < _status(crawl)["resting_s"] <= LEASE_S)
    assert "s: the store was restarted" in crawl.ask("status").succeed()
    crawl.await_words(run, "s: the store was restarted")
    run.signal(signal.SIGTERM)
    assert run.end() == 130


def _status(crawl: "ProcessCrawl") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(crawl.ask("status", "--json").succeed())
    return found
