"""The outputs of a crawl may take longer than the crawl: whoever watches sees how far they are."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from process_tree import writers_of

import gossamer
from gossamer import Snapshot
from gossamer.coordinator.observer import Silence
from gossamer.stores.crawl_views import HostView, WorkerView
from gossamer.testing import Web

PAGES = 5


class WriterStopper(Silence):
    """Has the process that writes outputs stand still until the crawl waits for it alone."""

    wants_events = True

    def __init__(self) -> None:
        self.stopped: list[int] = []
        self.ends: list[Snapshot] = []

    def event(self, event: gossamer.Event) -> None:
        if not self.stopped:
            self.stopped = writers_of(os.getpid())
            for pid in self.stopped:
                os.kill(pid, signal.SIGSTOP)

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        if snapshot.unwritten is not None:
            self.ends.append(snapshot)
            for pid in self.stopped:
                os.kill(pid, signal.SIGCONT)


def test_after_the_last_page_the_results_that_are_left_to_write_are_shown(
    web: Web, tmp_path: Path
) -> None:
    site = web.site("127.0.0.1")
    site.page("/", links=[f"/{number}" for number in range(1, PAGES)])
    for number in range(1, PAGES):
        site.page(f"/{number}", text=f"words of page {number}")
    watched = WriterStopper()
    summary = asyncio.run(
        gossamer.crawl(
            f"{web.base_url}/",
            dir=tmp_path / "crawl",
            output=[tmp_path / "pages.jsonl"],
            delay="0s",
            similarity="off",
            observer=watched,
        )
    )
    assert watched.stopped
    first = watched.ends[0]
    assert (first.waiting, first.in_progress, first.pages) == (0, 0, PAGES)
    assert first.unwritten is not None
    assert 0 < first.unwritten <= PAGES
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == PAGES
    assert summary.snapshot.unwritten is None
