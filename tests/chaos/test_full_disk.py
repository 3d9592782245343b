"""A disk that fills up under a crawl."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from process_tree import descendants, is_alive

if TYPE_CHECKING:
    from tests.chaos.conftest import SmallCrawl


def mount(disk: Path, options: str) -> bool:
    """Mount a disk in memory, or change it; False where only root may do that."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that can be made small and large."""
    if not mount(tmp_path, "size=50m"):
        pytest.skip("a small file system can only be mounted by root")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.req("B1", "C12")
@pytest.mark.parametrize("size_kb", [100, 150, 200, 250, 300])
def test_a_full_disk_ends_the_crawl_which_goes_on_when_there_is_room(
    size_kb: int, crawl: "SmallCrawl", disk: Path
) -> None:
    directory = disk / "crawl"
    assert mount(disk, f"remount,size={size_kb}k")
    run = crawl.start(directory)
    assert run.end() == 1
    *_, last = run.output.splitlines()
    assert re.match("gossamer: cannot .* (No space left on device|database or disk is full)", last)
    assert "Traceback" not in run.output
    assert mount(disk, "remount,size=50m")
    crawl.finish(directory)


@pytest.mark.req("B1", "C12")
@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("worker", r"gossamer: cannot write page \d+ to .*: No space left on device; .*"),
        ("coordinator", "gossamer: cannot .* (No space left on device|database or disk is full).*"),
    ],
)
def test_whoever_writes_to_a_full_disk_says_so(
    role: str, words: str, crawl: "SmallCrawl", disk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Workers save the pages, the coordinator keeps the store; here one of them is elsewhere."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    directory, store = (disk, elsewhere) if role == "worker" else (elsewhere, disk)
    options = ["--store", f"sqlite:{store / 'crawl.sqlite'}"]
    assert mount(disk, "remount,size=40k" if role == "worker" else "remount,size=120k")
    run = crawl.start(directory, *options)
    others = descendants(run.pid)
    assert run.end() == 1, run.output
    *_, last = run.output.splitlines()
    assert re.fullmatch(words, last)
    assert "Traceback" not in run.output
    assert not [pid for pid in others if is_alive(pid)]
    assert mount(disk, "remount,size=50m")
    crawl.start(directory, *options).succeed()
    saved = [one for one in (directory / "pages").iterdir() if one.name[0] != "."]
    assert sorted(int(one.name) for one in saved) == [*range(1, len(saved) + 1)]
