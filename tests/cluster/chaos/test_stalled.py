"""A worker that stands still past its lease comes back to find its work done by others."""

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.cluster.small_web import HOSTS

if TYPE_CHECKING:
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl


@pytest.mark.req("B1", "B3", "D16")
def test_a_worker_that_stood_still_is_refused(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl(workers=3)
    crawl.await_requests(30)
    stalled = crawl.workers()[:2]
    for pid in stalled:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(4.0)
    crawl.verify()
    for pid in stalled:
        with suppress(ProcessLookupError):  # on a busy machine it is taken for one that hangs
            os.kill(pid, signal.SIGCONT)
    run.succeed()
    assert crawl.result(late_files=len(HOSTS)) == expected
    crawl.assert_polite()
    crawl.verify()
