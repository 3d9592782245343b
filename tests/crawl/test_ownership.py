"""Files are their owner's: a crawl removes and replaces only what it wrote itself.

All from outside, with the command as it is typed.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.testing import Reply, Web

GOSSAMER = str(Path(sys.executable).with_name("gossamer"))
PAGES = 9

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(web: Web, tmp_path: Path) -> Run:
    """Run a command in a directory of its own; `code` is how it must end."""
    site = web.site("a.test")
    site.page("/", links=[f"/{number}" for number in range(1, PAGES)])
    for number in range(1, PAGES):
        site.page(f"/{number}", title=f"Page {number}")

    def call(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [GOSSAMER, *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def crawl(web: Web) -> list[str]:
    return ["crawl", web.base_url, "--delay", "0s", "--module", "save"]


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file that is not hidden, with what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".gossamer" not in path.parts and not path.name.startswith(".")
    }


@pytest.mark.req("D12")
@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["", "fresh"])
def test_a_folder_with_other_files_is_refused(
    web: Web, run: Run, crawl: list[str], tmp_path: Path, fresh: list[str]
) -> None:
    pages = tmp_path / "mine" / "pages"
    pages.mkdir(parents=True)
    for name in ("1", "2", "notes.txt"):
        (pages / name).write_text(f"http://a.test/\n0\nprecious {name}")
    before = contents(pages)
    told = run(*crawl, "--dir", "mine", *fresh, code=2)
    assert told.stderr.startswith("gossamer: mine/pages/1 was not written by this crawl")
    assert contents(pages) == before
    assert web.requests == []


@pytest.mark.req("D17")
@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["", "fresh"])
def test_a_file_that_is_not_of_a_crawl_is_not_made_one(
    web: Web, run: Run, crawl: list[str], tmp_path: Path, fresh: list[str]
) -> None:
    key = tmp_path / "private.key"
    key.write_text("-----BEGIN PRIVATE KEY-----\n" * 20)
    before = key.read_bytes(), key.stat().st_mtime_ns
    told = run(*crawl, "--store", f"sqlite:{key}", *fresh, code=2)
    assert f"{key} is not the file of a crawl" in told.stderr
    assert (key.read_bytes(), key.stat().st_mtime_ns) == before
    assert web.requests == []


@pytest.mark.req("D12")
def test_a_second_crawl_never_shares_a_directory(
    web: Web, run: Run, crawl: list[str], tmp_path: Path
) -> None:
    run(*crawl, "--dir", "here")
    before = contents(tmp_path / "here")
    second = ["crawl", f"{web.base_url}/1", "--delay", "0s", "--module", "save", "--dir", "here"]
    for more in (["memory:"], ["sqlite:b.db", "--fresh"]):
        told = run(*second, "--store", *more, code=2)
        assert "here holds the results of another crawl" in told.stderr
    assert not (tmp_path / "b.db").exists()
    assert contents(tmp_path / "here") == before


@pytest.mark.req("B1", "D12")
def test_a_killed_crawl_goes_on_in_its_own_directory_and_may_start_over(
    web: Web, run: Run, crawl: list[str], tmp_path: Path
) -> None:
    web.site("a.test").reply("/5", Reply(body="late", delay_s=30), Reply(body="in time"))
    command = [GOSSAMER, *crawl, "--dir", "here", "--quiet"]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as running:
        web.wait_for_requests(6)
        os.killpg(running.pid, signal.SIGKILL)
    pages = tmp_path / "here" / "pages"
    (pages / ".7.4711.part").write_text("half a page")
    (pages / "notes.txt").write_text("mine")
    numbered = {*map(str, range(1, PAGES + 1)), "notes.txt"}
    run(*crawl, "--dir", "here")
    assert {path.name for path in pages.iterdir()} == numbered
    run("verify", "--dir", "here")
    run(*crawl, "--dir", "here", "--fresh")
    assert {path.name for path in pages.iterdir()} == numbered
    run("verify", "--dir", "here")
    (pages / "3").write_text("mine too")
    told = run(*crawl, "--dir", "here", "--fresh", code=2)
    assert "here/pages/3 is not a page that Gossamer saved" in told.stderr


@pytest.mark.req("B4", "B10", "D12")
def test_a_shared_crawl_keeps_its_directory_and_others_do_not_get_it(
    run: Run, crawl: list[str], tmp_path: Path, redis_url: str
) -> None:
    shared = ["--store", redis_url, "--name", "shared-and-owned"]
    run(*crawl, "--dir", "here", *shared, "--max-pages", "3")
    run(*crawl, "--dir", "here", *shared)
    before = contents(tmp_path / "here" / "pages")
    assert set(before) == set(map(str, range(1, PAGES + 1)))
    other = ["--store", redis_url, "--name", "another-owner", "--fresh"]
    told = run(*crawl, "--dir", "here", *other, code=2)
    assert "here holds the results of another crawl" in told.stderr
    assert contents(tmp_path / "here" / "pages") == before
    run(*crawl, "--dir", "here", *shared, "--fresh", "--max-pages", "4")
    assert set(contents(tmp_path / "here" / "pages")) == {"1", "2", "3", "4"}
