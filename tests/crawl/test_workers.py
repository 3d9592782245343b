"""How many workers a crawl has, and in which process its modules run."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled

from gossamer.coordinator.processes.worker_pool import cores
from gossamer.model import Page
from gossamer.testing import Web

STATS = f"{Path(__file__).resolve().parents[2]}/examples/stats.py:Stats"

Crawl = Callable[..., Crawled]

pytestmark = pytest.mark.req("B10", "D1")

NOTE_PIDS = """
import os

class NotePids:
    def open(self, context):
        self.file = (context.directory / f"pids-{os.getpid()}").open("a")

    def page(self, page):
        print(page.id, file=self.file, flush=True)
"""
FILLER = "".join(f"<p>{number} <a href='#{number}'>here</a></p>" for number in range(2000))


@pytest.fixture
def note_pids(tmp_path: Path) -> str:
    """Return the name of a module that notes in which process it saw which page."""
    file = tmp_path / "note_pids.py"
    file.write_text(NOTE_PIDS)
    return f"{file}:NotePids"


def pages_by_process(directory: Path) -> dict[int, list[int]]:
    return {
        int(file.name.removeprefix("pids-")): [int(line) for line in file.read_text().split()]
        for file in directory.glob("pids-*")
    }


def describe(web: Web, hosts: int, pages: int, body: str = "") -> None:
    for host in range(hosts):
        site = web.site(f"h{host}.test")
        others = [f"http://h{other}.test/" for other in range(hosts)]
        site.page("/", links=[*others, *[f"/{page}" for page in range(pages)]])
        for page in range(pages):
            site.page(f"/{page}", html=f"<p>page {page} of host {host}</p>{body}")


def test_a_polite_crawl_of_one_host_has_one_worker(
    web: Web, crawl: Crawl, note_pids: str, tmp_path: Path
) -> None:
    describe(web, 1, 25)
    crawl("http://h0.test/", delay="30ms", modules=[note_pids])
    (seen,) = pages_by_process(tmp_path / "crawl").values()
    assert sorted(seen) == list(range(1, 27))


@pytest.mark.skipif(cores() < 2, reason="there is one core only")
def test_one_site_of_ones_own_uses_several_cores(
    web: Web, crawl: Crawl, note_pids: str, tmp_path: Path
) -> None:
    describe(web, 1, 300, FILLER)
    crawl("http://h0.test/", host_connections=8, modules=[note_pids])
    processes = pages_by_process(tmp_path / "crawl")
    assert 2 <= len(processes) <= cores()
    seen = sorted(page for pages in processes.values() for page in pages)
    assert seen == list(range(1, 302)), "each page was seen once, whoever had it"


def test_named_modules_run_in_the_workers_and_functions_here(
    web: Web, crawl: Crawl, note_pids: str, tmp_path: Path
) -> None:
    describe(web, 6, 4)
    here = []

    def note_here(page: Page) -> None:
        here.append((os.getpid(), page.id, page.text))

    crawl("http://h0.test/", scope="any", workers=3, modules=[note_pids, note_here])
    processes = pages_by_process(tmp_path / "crawl")
    assert len(processes) == 3
    assert os.getpid() not in processes
    assert {pid for pid, _, _ in here} == {os.getpid()}
    assert sorted(number for _, number, _ in here) == list(range(1, 31))
    assert "page 3 of host 5" in {text for _, _, text in here}


def test_one_place_counts_all_pages_and_no_two_workers_save_one(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    describe(web, 6, 4)
    crawled = crawl("http://h0.test/", scope="any", workers=3, modules=[STATS, "save"])
    stats = json.loads((tmp_path / "crawl" / "stats.json").read_text())
    assert stats["all"]["pages"] == 30
    assert stats["by_host"] == {f"h{host}.test": 5 for host in range(6)}
    saved = [file.read_text().split("\n")[0] for file in (tmp_path / "crawl" / "pages").iterdir()]
    assert Counter(saved) == Counter(page.url for page in crawled.pages)
    assert [(one.name, one.pages) for one in crawled.summary.modules[1:]] == [
        (STATS, 30),
        ("save", 30),
    ]
    assert [file.name for file in (tmp_path / "crawl").glob("stats*")] == ["stats.json"]
