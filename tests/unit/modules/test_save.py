import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.model import Page
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.builtin import Save
from gossamer.modules.contract import ModuleContext

MakePage = Callable[..., Page]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return tmp_path / "pages"


def opened(directory: Path, resumed_from: int = 0) -> Save:
    """Start as a crawl does: it is prepared once, and opened where it sees pages."""
    context = ModuleContext(directory=directory, crawl="x", worker=0, resumed_from=resumed_from)
    Save().prepare(context)
    save = Save()
    save.open(context)
    return save


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.req("C7", "D12")
def test_a_page_is_url_depth_and_body_byte_for_byte(
    make_page: MakePage, tmp_path: Path, pages: Path
) -> None:
    body = bytes(range(256)) + b"\r\n\n no newline at the end"
    save = opened(tmp_path)
    save.page(make_page(1, depth=3, body=body))
    save.page(make_page(2, body=b""))
    assert (pages / "1").read_bytes() == b"http://a.test/1\n3\n" + body
    assert (pages / "2").read_bytes() == b"http://a.test/2\n0\n"
    assert names(pages) == {"1", "2"}


@pytest.mark.req("B1")
def test_a_page_that_comes_again_replaces_its_file(
    make_page: MakePage, tmp_path: Path, pages: Path
) -> None:
    save = opened(tmp_path)
    save.page(make_page(1, body=b"a longer first version"))
    with (pages / "1").open("rb") as reader:
        save.page(make_page(1, body=b"second"))
        # Somebody who reads the old file meanwhile keeps the old file, whole.
        assert reader.read().endswith(b"a longer first version")
    assert (pages / "1").read_bytes() == b"http://a.test/1\n0\nsecond"
    assert names(pages) == {"1"}


@pytest.mark.req("B2", "B1")
@pytest.mark.parametrize("body", [b"", b"\n", b"7\n8\n", b"x" * 100_000])
def test_a_new_depth_is_put_into_the_file(
    make_page: MakePage, tmp_path: Path, pages: Path, body: bytes
) -> None:
    save = opened(tmp_path)
    save.page(make_page(1, depth=12, body=body))
    save.depth_changed(1, 4)
    assert (pages / "1").read_bytes() == b"http://a.test/1\n4\n" + body
    assert names(pages) == {"1"}
    save.depth_changed(2, 1)
    assert names(pages) == {"1"}


@pytest.mark.req("B1")
def test_what_a_crash_left_is_removed_and_nothing_else(
    make_page: MakePage, tmp_path: Path, pages: Path
) -> None:
    save = opened(tmp_path)
    for number in range(1, 6):
        save.page(make_page(number))
    kept = {"notes", "7.html", ".hidden", ".6.part", "007", "٣", "-3", "8 "}
    for name in {*kept, ".6.4711.part"}:
        (pages / name).write_text("x")
    opened(tmp_path, resumed_from=3)
    assert names(pages) == {"1", "2", "3", *kept}


def test_a_start_after_a_loss_of_power_says_what_is_missing(
    make_page: MakePage, tmp_path: Path, pages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save = opened(tmp_path)
    for number in range(1, 6):
        save.page(make_page(number))
    opened(tmp_path, resumed_from=5)
    assert caplog.text == ""
    (pages / "2").unlink()
    (pages / "4").write_bytes(b"")
    opened(tmp_path, resumed_from=5)
    assert f"2 of the 5 pages of the crawl so far are not in {pages}" in caplog.text


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    total=st.integers(1, 12),
    crashes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=4),
    order=st.randoms(use_true_random=False),
)
@pytest.mark.req("B1")
def test_however_often_it_crashed_each_page_is_there_once_without_holes(
    make_page: MakePage,
    tmp_path_factory: pytest.TempPathFactory,
    total: int,
    crashes: list[tuple[int, int]],
    order: random.Random,
) -> None:
    directory = tmp_path_factory.mktemp("crawl")
    settled = 0
    for settles, delivers_more in crashes:
        save = opened(directory, settled)
        reached = min(total, settled + settles + delivers_more)
        numbers = list(range(settled + 1, reached + 1))
        order.shuffle(numbers)
        for number in numbers:
            # What is not settled may be another page the next time.
            save.page(make_page(number, body=b"%d" % order.randrange(1000)))
        settled = min(total, settled + settles)
    save = opened(directory, settled)
    for number in range(settled + 1, total + 1):
        save.page(make_page(number))
    assert names(directory / "pages") == {str(number) for number in range(1, total + 1)}


WRITER = """
import sys
from pathlib import Path
from gossamer.model import Page, Url
from gossamer import ModuleContext; from gossamer.modules.builtin import Save

settled = int(sys.argv[2])
save = Save()
save.open(ModuleContext(directory=Path(sys.argv[1]), crawl="x", worker=0, resumed_from=settled))
for number in range(settled + 1, 100_000):
    save.page(Page(id=number, url=Url("http://a.test/"), depth=9, status=200, content_type="",
                   encoding="", title="", body=b"%d." % number * 20_000, links=(), fetched_at=0))
    save.depth_changed(number, 0)
    print(number, flush=True)
"""


@pytest.mark.req("B1")
def test_kill_9_leaves_no_half_page(tmp_path: Path, pages: Path) -> None:
    settled = 0
    for pause in (1, 2, 4, 7, 12):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(settled)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(pause):
                settled = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
        for name in names(pages):
            if name.isdigit():
                number = int(name)
                depth, body = (pages / name).read_bytes().split(b"\n", 2)[1:]
                assert body == b"%d." % number * 20_000
                assert depth == b"0" or number > settled
    opened(tmp_path, settled)
    assert names(pages) == {str(number) for number in range(1, settled + 1)}


# --- disks that do not do as told ---


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse larger files: a write comes out short, the next one fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.req("C12", "B1")
def test_a_disk_that_is_full_ends_the_crawl_and_leaves_the_old_page_whole(
    make_page: MakePage, tmp_path: Path, pages: Path
) -> None:
    save = opened(tmp_path)
    save.page(make_page(1, body=b"old"))
    with (
        largest_file(1_000_000),
        pytest.raises(CrawlError, match=r"cannot write page 1 to .*: File too large; the pages be"),
    ):
        save.page(make_page(1, body=b"x" * 2_000_000))
    assert (pages / "1").read_bytes().endswith(b"\nold")
    assert names(pages) == {"1"}


def test_a_page_that_cannot_be_read_back_ends_the_crawl(tmp_path: Path, pages: Path) -> None:
    save = opened(tmp_path)
    (pages / "1").mkdir()
    with pytest.raises(CrawlError, match=r"cannot read page 1 in .*: it is not a page that Goss"):
        save.depth_changed(1, 0)


def test_a_short_write_goes_on(
    make_page: MakePage, tmp_path: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_little(descriptor: int, parts: tuple[bytes, ...]) -> int:
        return os.write(descriptor, parts[0][:3])

    monkeypatch.setattr(os, "writev", write_little)
    opened(tmp_path).page(make_page(1, body=b"whole"))
    assert (pages / "1").read_bytes() == b"http://a.test/1\n0\nwhole"


def test_a_folder_that_cannot_be_made_ends_the_crawl_before_it_starts(
    tmp_path: Path, pages: Path
) -> None:
    pages.write_text("a file")
    with pytest.raises(UsageError, match=r"pages was not written by this crawl"):
        opened(tmp_path)
    assert pages.read_text() == "a file"


@pytest.mark.req("D12")
@pytest.mark.parametrize("name", ["1", "notes.txt"])
def test_a_folder_that_holds_something_else_is_refused(
    tmp_path: Path, pages: Path, name: str
) -> None:
    pages.mkdir()
    (pages / name).write_text("http://a.test/\n0\nprecious")
    with pytest.raises(UsageError, match=rf"pages/{name} was not written by this crawl"):
        opened(tmp_path)
    assert (pages / name).read_text().endswith("precious")


@pytest.mark.req("D12", "B1")
def test_a_file_that_is_not_a_page_is_neither_removed_nor_replaced(
    make_page: MakePage, tmp_path: Path, pages: Path
) -> None:
    save = opened(tmp_path)
    save.page(make_page(1))
    save.page(make_page(2))
    outside = tmp_path / "outside"
    outside.write_text("http://a.test/\n9\nprecious")
    (pages / "3").symlink_to(outside)
    (pages / "4").write_text("mine")
    for number in (3, 4):
        with pytest.raises(CrawlError, match=rf"cannot write page {number} .*it is not a page"):
            save.page(make_page(number))
        with pytest.raises(CrawlError, match=rf"cannot read page {number} .*it is not a page"):
            save.depth_changed(number, 0)
    with pytest.raises(UsageError, match=r"pages/[34] is not a page that Gossamer saved"):
        opened(tmp_path, resumed_from=1)
    assert names(pages) == {"1", "2", "3", "4"}, "nothing was removed, not even what is our own"
    assert outside.read_text().endswith("precious")
    assert (pages / "4").read_text() == "mine"


@pytest.mark.req("D12")
def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path, pages: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    pages.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="pages is a symbolic link"):
        opened(tmp_path)


@pytest.mark.parametrize("folder", [".", "..", "a/b", "/tmp", ""])  # noqa: S108 -- refused
def test_the_folder_is_one_in_the_crawl_s_directory(context: ModuleContext, folder: str) -> None:
    with pytest.raises(UsageError, match="without a path"):
        Save().open(msgspec.structs.replace(context, options={"folder": folder}))


@pytest.mark.req("B1")
def test_a_worker_that_opens_later_removes_nothing_of_others(
    make_page: MakePage, tmp_path: Path, pages: Path
) -> None:
    first = opened(tmp_path)
    first.page(make_page(1))
    (pages / ".2.4711.part").write_text("being written")
    Save().open(ModuleContext(directory=tmp_path, crawl="x", worker=2))
    assert names(pages) == {"1", ".2.4711.part"}
