import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.model import Page, Url
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.contract import ModuleContext
from gossamer.modules.stats import INTERVAL_S, MAX_KEYS, OTHER, RECENT, Stats

MakePage = Callable[..., Page]


class StatsClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> StatsClock:
    return StatsClock()


@pytest.fixture
def stats(clock: StatsClock, context: ModuleContext) -> Stats:
    stats = Stats(clock)
    stats.open(context)
    return stats


def numbers(directory: Path) -> Any:  # noqa: ANN401 -- JSON
    return json.loads((directory / "stats.json").read_bytes())


def resumed(directory: Path, settled: int) -> Stats:
    stats = Stats()
    stats.open(ModuleContext(directory=directory, crawl="x", worker=0, resumed_from=settled))
    return stats


@pytest.mark.req("D12")
def test_pages_are_counted_by_depth_type_and_host(
    make_page: MakePage, stats: Stats, tmp_path: Path
) -> None:
    stats.page(make_page(1, body=b"12345", content_type="text/html; charset=utf-8"))
    stats.page(make_page(2, depth=1, content_type="Text/HTML"))
    stats.page(make_page(3, depth=1, content_type="text/plain", url=Url("https://b.test:81/x")))
    stats.close()
    found = numbers(tmp_path)
    assert (found["pages"], found["bytes"]) == (3, 5 + 4 + 4)
    assert found["by_depth"] == {"0": 1, "1": 2}
    assert found["by_content_type"] == {"text/html": 2, "text/plain": 1}
    assert found["by_host"] == {"a.test": 2, "b.test": 1}


def test_the_file_is_there_from_the_start_and_follows_every_few_seconds(
    make_page: MakePage, stats: Stats, clock: StatsClock, tmp_path: Path
) -> None:
    assert numbers(tmp_path)["pages"] == 0
    stats.page(make_page(1))
    assert numbers(tmp_path)["pages"] == 0
    clock.now += INTERVAL_S
    stats.page(make_page(2))
    assert numbers(tmp_path)["pages"] == 2
    assert {entry.name for entry in tmp_path.glob("[!.]*")} == {"stats.json"}


@pytest.mark.req("B1")
def test_a_page_that_comes_again_is_not_counted_again(
    make_page: MakePage, stats: Stats, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 3, 2, 3):
        stats.page(make_page(number))
    stats.close()
    assert numbers(tmp_path)["pages"] == 3
    # A crash: of the three only page 1 was settled for good.
    again = resumed(tmp_path, 1)
    for number in (2, 3, 4):
        again.page(make_page(number))
    again.close()
    assert numbers(tmp_path)["pages"] == 4
    assert caplog.text == ""


def test_a_start_after_a_crash_says_what_is_not_counted(
    make_page: MakePage, stats: Stats, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 2, 7):
        stats.page(make_page(number))
    stats.close()
    resumed(tmp_path, 5)
    assert f"3 of the 5 pages of the crawl so far are not counted in {tmp_path}" in caplog.text


def test_numbers_of_another_crawl_are_not_taken_over(
    make_page: MakePage, stats: Stats, context: ModuleContext, tmp_path: Path
) -> None:
    stats.page(make_page(1))
    stats.close()
    Stats().open(context)
    assert numbers(tmp_path)["pages"] == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pages": "many"}', b"\xff"])
def test_numbers_that_cannot_be_read_are_not_thrown_away(tmp_path: Path, content: bytes) -> None:
    resumed(tmp_path, 0)
    (tmp_path / "stats.json").write_bytes(content)
    with pytest.raises(UsageError, match="remove the file to count from here on"):
        resumed(tmp_path, 1)
    assert (tmp_path / "stats.json").read_bytes() == content


def test_memory_is_bounded_whatever_servers_invent(
    make_page: MakePage, stats: Stats, tmp_path: Path
) -> None:
    for number in range(MAX_KEYS + 500):
        stats.page(
            make_page(number, url=Url(f"http://h{number}.test/"), content_type=f"x/{number}" * 99)
        )
    stats.close()
    found = numbers(tmp_path)
    assert found["pages"] == MAX_KEYS + 500
    assert found["by_host"][OTHER] == 500
    assert len(found["by_host"]) == MAX_KEYS + 1
    last = MAX_KEYS + 499
    assert found["recent"] == [[last - RECENT + 1, last]]
    assert max(map(len, found["by_content_type"])) == 100


def test_other_processes_have_files_of_their_own(tmp_path: Path) -> None:
    Stats().open(ModuleContext(directory=tmp_path, crawl="x", worker=3))
    assert {entry.name for entry in tmp_path.glob("[!.]*")} == {"stats-3.json"}


@pytest.mark.req("C12")
def test_numbers_that_cannot_be_written_end_the_crawl(context: ModuleContext) -> None:
    directory = context.directory / "new"
    stats = Stats()
    stats.open(msgspec.structs.replace(context, directory=directory))
    shutil.rmtree(directory)
    with pytest.raises(CrawlError, match=r"cannot write .*stats.json: No such file"):
        stats.close()


@pytest.mark.req("D12")
def test_a_file_of_somebody_else_is_left_alone(context: ModuleContext, tmp_path: Path) -> None:
    mine, elsewhere = tmp_path / "stats.json", tmp_path / "elsewhere"
    mine.write_text("my own figures")
    with pytest.raises(UsageError, match=r"stats\.json was not written by this crawl"):
        Stats().open(context)
    assert mine.read_text() == "my own figures"
    mine.rename(elsewhere)
    mine.symlink_to(elsewhere)
    with pytest.raises(UsageError, match=r"stats\.json is a symbolic link"):
        Stats().open(context)
    mine.unlink()
    Stats().open(context)
    with pytest.raises(UsageError, match="holds the results of another crawl, test"):
        Stats().open(msgspec.structs.replace(context, identity="other", crawl="b"))


@pytest.mark.req("B1")
def test_of_two_pages_with_one_id_only_the_last_counts(
    make_page: MakePage, stats: Stats, tmp_path: Path
) -> None:
    """The worker of the first has died, and its id went to another page."""
    stats.page(make_page(1, body=b"12345", content_type="text/plain", url=Url("http://b.test/")))
    stats.page(make_page(2))
    stats.page(make_page(1, body=b"123", depth=4))
    stats.close()
    found = numbers(tmp_path)
    assert (found["pages"], found["bytes"]) == (2, 4 + 3)
    assert found["by_depth"] == {"0": 1, "4": 1}
    assert found["by_content_type"] == {"text/html": 2}
    assert found["by_host"] == {"a.test": 2}
