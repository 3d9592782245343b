import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model import Page
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.page_directory import PageDirectory

MakePage = Callable[..., Page]


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.req("C7")
@pytest.mark.parametrize("first_id", [0, 1])
def test_ids_run_without_holes_from_the_first(
    make_page: MakePage, tmp_path: Path, first_id: int
) -> None:
    pages = PageDirectory(tmp_path, first_id=first_id, fresh=True)
    for page_id in range(1, 13):
        pages.save(make_page(page_id, depth=3))
    assert names(tmp_path) == {str(number) for number in range(first_id, first_id + 12)}
    assert pages.count == 12
    pages.set_depth(2, 1)
    assert (tmp_path / str(first_id + 1)).read_bytes().startswith(b"http://a.test/2\n1\n")


@pytest.mark.req("C3")
@pytest.mark.parametrize("name", ["1", "0", "007", "-3", "12345678901234567890"])
def test_a_directory_with_a_numbered_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    with pytest.raises(UsageError, match=rf"already holds numbered files .*{name}"):
        PageDirectory(tmp_path, fresh=True)
    assert (tmp_path / name).read_text() == "precious"


@pytest.mark.req("C3")
def test_other_files_are_no_hindrance(make_page: MakePage, tmp_path: Path) -> None:
    for name in ("1.html", "notes", ".1.part", "٣", "1a"):
        (tmp_path / name).write_text("x")
    PageDirectory(tmp_path, fresh=True).save(make_page(1))
    assert (tmp_path / "1").exists()


@pytest.mark.req("C3")
def test_what_is_no_writable_directory_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist: create it"):
        PageDirectory(tmp_path / "missing", fresh=True)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        PageDirectory(file, fresh=True)
    with pytest.raises(UsageError, match="cannot be written to"):
        PageDirectory(Path("/sys"), fresh=True)


@pytest.mark.req("C3", "C12")
def test_a_file_that_appears_meanwhile_is_not_overwritten(
    make_page: MakePage, tmp_path: Path
) -> None:
    pages = PageDirectory(tmp_path, fresh=True)
    pages.save(make_page(1))
    (tmp_path / "2").write_text("precious")
    with pytest.raises(CrawlError, match=r"cannot write page 2 .* the 1 pages before it"):
        pages.save(make_page(2))
    assert (tmp_path / "2").read_text() == "precious"
    assert names(tmp_path) == {"1", "2"}


@pytest.mark.req("C12")
def test_a_write_that_fails_half_way_leaves_nothing(
    make_page: MakePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PageDirectory(tmp_path, fresh=True)
    pages.save(make_page(1))

    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CrawlError, match="No space left on device"):
        pages.save(make_page(2))
    assert names(tmp_path) == {"1"}


def test_a_file_system_without_hard_links_will_do(
    make_page: MakePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(_hidden: str, _final: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    pages = PageDirectory(tmp_path, fresh=True)
    pages.save(make_page(1))
    assert names(tmp_path) == {"1"}
    (tmp_path / "2").write_text("precious")
    with pytest.raises(CrawlError, match="File exists"):
        pages.save(make_page(2))
    assert (tmp_path / "2").read_text() == "precious"
