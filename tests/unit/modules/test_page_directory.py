import errno
import os
from pathlib import Path

import pytest

from gossamer.errors import CrawlError, UsageError
from gossamer.model import Url
from gossamer.modules import PageDirectory

URL = Url("http://a.test/x")


@pytest.mark.req("C7")
def test_a_page_is_url_depth_and_body_byte_for_byte(tmp_path: Path) -> None:
    pages = PageDirectory(tmp_path)
    body = bytes(range(256)) + b"\r\n\n no newline at the end"
    assert pages.save(URL, 3, body) == 1
    assert (tmp_path / "1").read_bytes() == b"http://a.test/x\n3\n" + body


@pytest.mark.req("C7")
@pytest.mark.parametrize("first_id", [0, 1])
def test_ids_run_without_holes_from_the_first(tmp_path: Path, first_id: int) -> None:
    pages = PageDirectory(tmp_path, first_id=first_id)
    ids = [pages.save(URL, 0, b"") for _ in range(12)]
    assert ids == list(range(first_id, first_id + 12))
    assert {entry.name for entry in tmp_path.iterdir()} == {str(one) for one in ids}
    assert pages.count == 12


@pytest.mark.req("C3")
@pytest.mark.parametrize("name", ["1", "0", "007", "-3", "12345678901234567890"])
def test_a_directory_with_a_numbered_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    with pytest.raises(UsageError, match=rf"already holds numbered files .*{name}"):
        PageDirectory(tmp_path)
    assert (tmp_path / name).read_text() == "precious"


@pytest.mark.req("C3")
def test_other_files_are_no_hindrance(tmp_path: Path) -> None:
    for name in ("1.html", "notes", ".1.part", "٣", "1a"):
        (tmp_path / name).write_text("x")
    assert PageDirectory(tmp_path).save(URL, 0, b"x") == 1


@pytest.mark.req("C3")
def test_what_is_no_writable_directory_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist: create it"):
        PageDirectory(tmp_path / "missing")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        PageDirectory(file)
    with pytest.raises(UsageError, match="cannot be written to"):
        PageDirectory(Path("/sys"))


@pytest.mark.req("C3", "C12")
def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    pages = PageDirectory(tmp_path)
    pages.save(URL, 0, b"first")
    (tmp_path / "2").write_text("precious")
    with pytest.raises(CrawlError, match=r"cannot write page 2 .* the 1 pages before it"):
        pages.save(URL, 1, b"second")
    assert (tmp_path / "2").read_text() == "precious"
    assert {entry.name for entry in tmp_path.iterdir()} == {"1", "2"}


@pytest.mark.req("C12")
def test_a_write_that_fails_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PageDirectory(tmp_path)
    pages.save(URL, 0, b"first")

    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CrawlError, match="No space left on device"):
        pages.save(URL, 1, b"second")
    assert {entry.name for entry in tmp_path.iterdir()} == {"1"}


def test_a_file_system_without_hard_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(_self: Path, _target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    pages = PageDirectory(tmp_path)
    assert pages.save(URL, 0, b"x") == 1
    assert {entry.name for entry in tmp_path.iterdir()} == {"1"}
    (tmp_path / "2").write_text("precious")
    with pytest.raises(CrawlError, match="File exists"):
        pages.save(URL, 0, b"y")
    assert (tmp_path / "2").read_text() == "precious"
