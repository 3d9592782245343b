"""The directory of a crawl."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.model import Url
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.directory import CrawlDirectory, is_locked, name_for
from gossamer.stores.sqlite.rows import SqliteRows


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        ("http://example.org/", "example.org"),
        ("https://example.org:8443/x/y", "example.org-8443"),
        ("http://[::1]/", "1"),
        ("http://[::]/", "crawl"),
    ],
)
def test_a_name_is_made_from_the_seed(seed: str, name: str) -> None:
    assert name_for(Url(seed)) == name


def test_it_is_made_and_locked(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "crawl"
    with CrawlDirectory(path):
        assert path.is_dir()
        with pytest.raises(CrawlError, match="another process"), CrawlDirectory(path):
            pass
    with CrawlDirectory(path):
        pass


def test_the_workers_of_a_killed_crawl_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have the lock by a descriptor of their own; here as well."""
    with CrawlDirectory(tmp_path) as directory:
        assert directory.worker_lock is not None
        kept = os.dup(directory.worker_lock)
    assert not is_locked(tmp_path), "nobody coordinates it"
    with monkeypatch.context() as patch:
        patch.setattr("gossamer.stores.directory.LEFT_WITHIN_S", 0.05)
        with pytest.raises(CrawlError, match="workers of a crawl that was killed"):
            CrawlDirectory(tmp_path).__enter__()
    leaving = threading.Timer(0.05, os.close, [kept])
    leaving.start()
    with CrawlDirectory(tmp_path):
        leaving.join()


def test_one_that_is_not_needed_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with CrawlDirectory(None):
        assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="--dir"), CrawlDirectory(tmp_path / "file"):
        pass


def test_starting_over_removes_the_state_and_nothing_else(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path) as directory:
        SqliteRows(directory.database).close()
        for name in ("crawl.sqlite-wal", "crawl.sqlite-shm", "mine.txt"):
            (tmp_path / name).write_text("x")
        directory.clear(directory.database)
        left = sorted(path.name for path in tmp_path.iterdir())
        assert left == [".lock", ".lock-workers", "mine.txt"]
        directory.clear(directory.database)


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE accounts (name)")


def what_it_is(path: Path) -> tuple[int, ...]:
    """Return which file it is and what tells that it was changed; reading it is no change."""
    state = path.lstat()
    return state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("-----BEGIN PRIVATE KEY-----"),
        lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(10)),
        foreign_database,
        os.mkfifo,
        os.mkdir,
    ],
    ids=["text", "damaged", "another program's", "pipe", "directory"],
)
def test_a_file_that_is_not_of_a_crawl_is_refused(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    path = tmp_path / "crawl.sqlite"
    make(path)
    before = what_it_is(path)
    refused = pytest.raises(UsageError, match=r"crawl\.sqlite is not the file of a crawl")
    with CrawlDirectory(tmp_path) as directory, refused:
        directory.clear(path)
    assert what_it_is(path) == before


def test_the_file_of_a_crawl_is_known_by_its_header_from_the_first_moment(tmp_path: Path) -> None:
    """Also while everything else is in the log, and when the file is damaged."""
    path = tmp_path / "crawl.sqlite"
    rows = SqliteRows(path)
    killed = tmp_path / "killed.sqlite"
    killed.write_bytes(path.read_bytes())
    rows.close()
    (tmp_path / "empty").touch()
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(path.read_bytes()[:100] + b"x" * 5000)
    with CrawlDirectory(tmp_path) as directory:
        for one in (killed, damaged, tmp_path / "empty"):
            directory.clear(one)
            assert not one.exists()


def test_the_file_of_a_crawl_that_runs_elsewhere_is_not_removed(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "crawl.sqlite")
    refused = pytest.raises(CrawlError, match=r"another process is writing to .*crawl\.sqlite")
    with CrawlDirectory(tmp_path / "other") as directory, refused:
        directory.clear(tmp_path / "crawl.sqlite")
    rows.close()
    assert (tmp_path / "crawl.sqlite").exists()
