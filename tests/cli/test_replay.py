"""`gossamer replay`: a module sees the kept pages as if it had been there."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gossamer.config import load
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.registry import open_for_reading
from gossamer.stores.url_record import Result
from gossamer.testing import Reply, Web

Gossamer = Callable[..., subprocess.CompletedProcess[str]]

MODULES = """
import os, signal, time
from pathlib import Path

here = Path(__file__).parent

def see(page):
    with (here / "seen").open("a") as seen:
        seen.write(f"{page.id} {page.url} {page.status} {len(page.links)} {page.text}\\n")
    if page.id == 5 and not (here / "died").exists():
        (here / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)

def scrape(page):
    if page.id == 6 and not (here / "scraped").exists():
        (here / "scraped").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if page.id % 2:
        yield {"n": page.id}

def linger(page):
    (here / "lingering").touch()
    time.sleep(0.02)

def fail(page):
    raise ValueError("never")
"""


@pytest.fixture(scope="module")
def crawl(crawl_of_module: list[str]) -> list[str]:
    """The words that name the crawl, which all tests share."""
    return crawl_of_module


@pytest.fixture(scope="module")
def folder(
    gossamer_in: Gossamer, crawl: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Where twelve pages were crawled, to some of which a shorter path was found late."""
    folder = tmp_path_factory.mktemp("replay")
    folder.joinpath("mine.py").write_text(MODULES)
    ring = {number: [number % 12 + 1] for number in range(1, 13)} | {1: [2, 12], 12: [6, 1]}
    more = ["--delay", "0s", "--host-connections", 2, "--similarity", "off", "--module", "save"]
    if "--dir" not in crawl:
        more += ["--dir", "a crawl"]
    with Web() as web:
        site = web.site("a.test")
        for number, to in ring.items():
            links = "".join(f"<a href='/{'' if one == 1 else one}'>x</a>" for one in to)
            body = f"<title>{number}</title>{links}<p>The page of the number {number}."
            late_s = 0.1 if number == 12 else 0.0
            site.reply(f"/{'' if number == 1 else number}", Reply(body=body, delay_s=late_s))
        host, port = web.address
        finished = gossamer_in("crawl", f"http://{host}:{port}/", *crawl, *more, cwd=folder)
    assert "Crawled 12 pages in" in finished.stderr, finished.stderr
    return folder  # nobody answers any more: nothing can be fetched


@pytest.fixture
def gossamer(gossamer_in: Gossamer, folder: Path) -> Gossamer:
    """Run the command where the crawl is."""
    return partial(gossamer_in, cwd=folder)


def saved(directory: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in directory.iterdir()}


def logged(crawl: list[str], folder: Path) -> list[Result]:
    """Return the log of results."""
    words = dict(zip(crawl[::2], crawl[1::2], strict=True))
    store = load({"store": words.get("--store", "sqlite:")}, {}).options.store
    request = ReadRequest(address=store, name=words.get("--name"), directory=folder / "a crawl")

    async def read() -> list[Result]:
        async with open_for_reading(request) as reader:
            return await reader.results(0, 1000)

    return asyncio.run(read())


@pytest.mark.req("D12")
def test_save_makes_the_files_that_the_crawl_made(
    gossamer: Gossamer, crawl: list[str], folder: Path
) -> None:
    pages = folder / "a crawl" / "pages"
    before = saved(pages)
    assert len(before) == 12
    shutil.rmtree(pages)
    again = gossamer("replay", *crawl, "--module", "save")
    assert again.returncode == 0, again.stderr
    assert "save has seen 12 pages in " in again.stderr
    assert saved(pages) == before
    shutil.rmtree(pages)
    again = gossamer("replay", *crawl, "--module", "save")
    assert "save has seen all 12 pages before; --from-start shows them again" in again.stderr
    assert "12 pages in" in gossamer("replay", *crawl, "--module", "save", "--from-start").stderr
    assert saved(pages) == before


@pytest.mark.req("D12")
def test_killed_it_goes_on_where_it_was(gossamer: Gossamer, crawl: list[str], folder: Path) -> None:
    killed = gossamer("replay", *crawl, "--module", "./mine.py:see")
    assert killed.returncode == -signal.SIGKILL
    last = gossamer("replay", *crawl, "--module", "./mine.py:see")
    assert last.returncode == 0, last.stderr
    assert "./mine.py:see has seen 8 pages in" in last.stderr
    lines = [line.split(" ", 4) for line in folder.joinpath("seen").read_text().splitlines()]
    assert [int(line[0]) for line in lines] == [1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12]
    for _, url, status, links, text in lines:
        page = url.rpartition("/")[2] or "1"
        assert status == "200"
        assert int(links) == (2 if page in {"1", "12"} else 1)
        assert text.endswith(f"The page of the number {page}.")


@pytest.mark.req("B9", "D12")
def test_the_records_of_a_replay_are_stored_once(
    gossamer: Gossamer, crawl: list[str], folder: Path
) -> None:
    """Also if the replay was killed."""
    replay = ["replay", *crawl, "--module", "./mine.py:scrape"]
    assert gossamer(*replay).returncode == -signal.SIGKILL
    assert len([one for one in logged(crawl, folder) if one.records]) == 3
    assert gossamer(*replay).returncode == 0
    before = logged(crawl, folder)
    kept, replayed = [one for one in before if one.page_id], [one for one in before if one.records]
    assert len(kept) == 12
    gathered = [one.records or () for one in replayed]
    assert [one.data for (one,) in gathered] == [b'{"n":%d}' % n for n in range(1, 13, 2)]
    pages = {one.page_id: one.url_id for one in kept}
    assert [one.url_id for one in replayed] == [pages[n] for n in range(1, 13, 2)]
    assert {one.page_id for one in replayed} == {None}
    assert {one.source for (one,) in gathered} == {"./mine.py:scrape"}
    again = gossamer(*replay)
    assert "./mine.py:scrape has seen all 12 pages before" in again.stderr, again.stderr
    assert logged(crawl, folder) == before
    assert gossamer(*replay, "--from-start").returncode == 0
    assert len(logged(crawl, folder)) == len(before) + 6, "that is another replay"
    assert gossamer("verify", *crawl).returncode == 0


def test_interrupted_it_ends_after_a_page(
    crawl: list[str], gossamer: Gossamer, folder: Path
) -> None:
    command = [str(Path(sys.executable).with_name("gossamer")), "replay", *crawl]
    with subprocess.Popen(
        [*command, "--module", "./mine.py:linger"], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as run:
        while not folder.joinpath("lingering").exists():
            assert run.poll() is None
        os.kill(run.pid, signal.SIGINT)
        told = run.communicate(timeout=50)[1]
    assert run.returncode == 130, told
    assert "interrupted; continue with: gossamer replay " in told
    assert "Traceback" not in told
    assert gossamer("replay", *crawl, "--module", "./mine.py:linger").returncode == 0


@pytest.mark.parametrize("crawl_of_module", ["sqlite"], indirect=True)
def test_what_cannot_be_shown_and_who_fails_is_said(gossamer: Gossamer, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "a crawl" / "crawl.sqlite")) as file, file:
        file.execute("DELETE FROM contents WHERE page IN (2, 3)")
    found = gossamer("replay", "a crawl", "--module", "./mine.py:fail")
    assert found.returncode == 4
    assert "module ./mine.py:fail failed at page 1 " in found.stderr
    assert "module ./mine.py:fail: 0 pages taken, 10 errors" in found.stderr
    assert "2 pages could not be shown to ./mine.py:fail: their bodies have expired" in found.stderr
    before = saved(folder / "a crawl" / "pages")
    again = gossamer("replay", "a crawl", "--module", "save", "--from-start")
    assert again.returncode == 0, again.stderr
    assert saved(folder / "a crawl" / "pages") == before, "what has expired is not removed"
    with CrawlDirectory(folder / "a crawl"):
        busy = gossamer("replay", "a crawl", "--module", "save", "--from-start")
    assert (busy.returncode, "another process is crawling" in busy.stderr) == (1, True)
    refused = gossamer("replay", "nowhere", "--module", "save")
    assert (refused.returncode, "there is no crawl in nowhere" in refused.stderr) == (2, True)
