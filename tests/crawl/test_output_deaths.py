"""A process that writes outputs and keeps dying is not replaced for ever."""

import asyncio
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from process_tree import writers_of

import gossamer
from gossamer.coordinator.outputs import MOST_DEATHS
from gossamer.coordinator.processes.output_process import FOLLOW_EVERY_S
from gossamer.testing import Web


@pytest.mark.req("B9")
def test_one_that_dies_again_and_again_without_writing_more_ends_the_crawl(
    web: Web, tmp_path: Path
) -> None:
    """Each successor tells at its start how far the one before it was: that is nothing new."""
    site = web.site("127.0.0.1")
    site.page("/", links=["/later"])
    site.page("/later")
    seed, folder, outputs = f"{web.base_url}/", tmp_path / "crawl", [tmp_path / "pages.jsonl"]
    asyncio.run(gossamer.crawl(seed, dir=folder, output=outputs, delay="0s", max_pages=1))
    ended = threading.Event()
    killing = threading.Thread(target=_kill_writers, args=(ended,))
    killing.start()
    # Its host rests, so there is nothing more to write.
    crawl = gossamer.crawl(seed, dir=folder, output=outputs, delay="15s", max_pages=2)
    try:
        with pytest.raises(gossamer.CrawlError, match="keeps dying"):
            asyncio.run(crawl)
    finally:
        ended.set()
        killing.join()


def _kill_writers(ended: threading.Event) -> None:
    """Kill each one when it has had the time to tell how far it is."""
    for _ in range(2 * MOST_DEATHS):
        while not (found := writers_of(os.getpid())):
            if ended.wait(0.02):
                return
        if ended.wait(4 * FOLLOW_EVERY_S):
            return
        with suppress(ProcessLookupError):
            os.kill(found[0], signal.SIGKILL)
