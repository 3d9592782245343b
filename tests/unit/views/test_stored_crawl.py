"""Reading a crawl that runs, has ended, was interrupted or killed; not a byte of it changes."""

import asyncio
import os
import shutil
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from crawled import crawl_into
from tests.unit.views.reading import in_directory, status, verified

from gossamer import CrawlError, Page, UsageError
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.directory import find_crawl
from gossamer.testing import Reply, Web
from gossamer.views.status import CrawlStatus

NOBODY = 65534


def is_sound(directory: Path) -> bool:
    return verified(in_directory(directory)).sound


def tree(web: Web, pages: int = 60) -> str:
    """Describe a site in which every page leads to two more, and return its seed."""
    site = web.site("a.test")
    for number in range(1, pages + 1):
        links = [f"/{child}" for child in (2 * number, 2 * number + 1) if child <= pages]
        body = "".join(f"<a href='{link}'>x</a>" for link in links) + str(number)
        site.reply(f"/{number}", Reply(body=body, delay_s=0.005))
    return "http://a.test/1"


class AtPage:
    """A module that does something when it sees a certain page; everything else waits for it."""

    on_loop = True

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self._number = number
        self._act = act

    def page(self, page: Page) -> None:
        if page.id == self._number:
            self._act()


@pytest.mark.req("F5", "D18")
def test_a_crawl_that_has_ended(finished: ReadRequest, finished_crawl: Path) -> None:
    found = status(finished)
    assert (found.state, found.ended_by) == ("finished", "complete")
    assert (found.waiting, found.in_progress, found.finished, found.too_deep) == (0, 0, 13, 1)
    assert (found.pages, found.max_pages, found.hosts) == (9, 100, 1)
    assert found.outcomes == {
        "fetched": 9,
        "duplicate": 1,
        "redirected": 1,
        "not_found": 1,
        "robots_denied": 1,
    }
    assert sum(found.url_states.values()) == 14
    by_depth = [(one.depth, one.urls, one.finished, one.pages) for one in found.depths]
    assert by_depth == [(0, 1, 1, 1), (1, 7, 7, 3), (2, 4, 4, 4), (3, 1, 1, 1), (4, 1, 0, 0)]
    assert found.busiest_hosts == []
    assert [(one.low, one.high) for one in found.queues][:2] == [(0, 10), (10, 20)]
    files = (finished_crawl / "pages").iterdir()
    bodies = [file.read_bytes().split(b"\n", 2)[2] for file in files]
    assert found.bytes >= sum(map(len, bodies))
    assert found.received > found.bytes, "robots.txt, the redirect and what is missing as well"
    assert (found.url_queue, found.url_queue_peak) == (10_000, 6)


@pytest.mark.req("F5", "B1", "D18")
def test_a_running_crawl_and_what_is_left_of_it_after_a_kill(
    tmp_path: Path, keep: Callable[..., None]
) -> None:
    seen: list[tuple[CrawlStatus, bool]] = []
    killed = tmp_path / "killed"

    def read() -> None:
        seen.append((status(in_directory(tmp_path / "crawl")), is_sound(tmp_path / "crawl")))
        # What a kill at this moment would leave: the file, its log, no lock.
        shutil.copytree(tmp_path / "crawl", killed)

    with Web() as web:
        asyncio.run(crawl_into(tmp_path / "crawl", web, tree(web), modules=[AtPage(40, read)]))
    ((running, sound),) = seen
    assert (running.state, running.ended_by, sound) == ("running", None, True)
    assert running.waiting + running.in_progress > 0
    (host,) = running.busiest_hosts
    left = host.waiting + host.in_progress + running.url_states["unscored"]
    assert left == running.waiting + running.in_progress
    keep(killed, queues=10)
    crashed = status(in_directory(killed))
    assert (crashed.state, crashed.ended_by) == ("crashed", None)
    queued = sum(one.waiting for one in crashed.queues)
    assert crashed.waiting == queued + crashed.url_states["unscored"] > 0
    assert is_sound(killed)
    assert status(in_directory(tmp_path / "crawl")).ended_by == "complete"


@pytest.mark.req("D14")
def test_what_ended_a_crawl(tmp_path: Path, keep: Callable[..., None]) -> None:
    def fail() -> None:
        raise CrawlError("enough")

    with Web() as web:
        seed = tree(web)
        with suppress(CrawlError):
            asyncio.run(crawl_into(tmp_path / "a", web, seed, modules=[AtPage(5, fail)]))
        asyncio.run(crawl_into(tmp_path / "b", web, seed, max_pages=7))
    budgets = {"max_bytes": 50_000_000, "max_page_bytes": 500_000}
    keep(tmp_path / "a", max_pages=60, **budgets)
    keep(tmp_path / "b", max_pages=7, **budgets)
    interrupted, spent = status(in_directory(tmp_path / "a")), status(in_directory(tmp_path / "b"))
    assert (interrupted.state, interrupted.ended_by) == ("interrupted", "interrupted")
    assert (spent.state, spent.ended_by, spent.pages) == ("finished", "max-pages", 7)
    assert is_sound(tmp_path / "a")
    assert is_sound(tmp_path / "b")


def test_reading_changes_nothing(directory: Path) -> None:
    before = {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}
    assert is_sound(directory)
    status(in_directory(directory))
    assert {file: file.read_bytes() for file in before} == before
    # SQLite may leave an index of an empty log behind, as beside every database that was read.
    more = {file.name for file in directory.iterdir()} - {file.name for file in before}
    assert more - {"pages", ".gossamer"} <= {"crawl.sqlite-shm", "crawl.sqlite-wal"}


@pytest.mark.parametrize("left", ["nothing", "a log with its index", "a log without"])
def test_a_directory_that_may_not_be_written_to(
    finished_crawl: Path, tmp_path: Path, left: str
) -> None:
    readable = Path(tmp_path.anchor, "tmp", f"gossamer-{os.getpid()}-{len(left)}")
    shutil.copytree(finished_crawl, readable)
    try:
        if left != "nothing":
            leave_a_log(readable)
        if left == "a log without":
            (readable / "crawl.sqlite-shm").unlink()
        told = status_for_a_guest(readable)
        if left == "a log without":
            assert "copy the directory" in told
        else:
            assert told == "finished 9"
    finally:
        readable.chmod(0o755)
        shutil.rmtree(readable)


def leave_a_log(directory: Path) -> None:
    """Leave a log beside the file, as a process does that is killed."""
    copy = directory.with_suffix(".copy")
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("INSERT INTO notes VALUES ('one', 'more')")
        shutil.copytree(directory, copy)
    shutil.rmtree(directory)
    copy.rename(directory)
    assert (directory / "crawl.sqlite-wal").stat().st_size > 0


def status_for_a_guest(directory: Path) -> str:
    """Return state and pages of the crawl, or the error, as somebody sees it who may only read."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads, which the child does not need.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read().decode()
        os.waitpid(child, 0)
        return told
    try:
        directory.chmod(0o555)
        for file in directory.glob("crawl.sqlite*"):
            file.chmod(0o444)
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        try:
            found = status(in_directory(directory))
            told = f"{found.state} {found.pages}"
        except CrawlError as error:
            told = str(error)
        os.write(writing, told.encode())
    finally:
        os._exit(0)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "not the file of a crawl"), (b"hello" * 1000, "not a database")],
)
def test_a_file_of_another_kind(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "crawl.sqlite").write_bytes(content)
    with pytest.raises(CrawlError, match=words):
        status(in_directory(tmp_path))


def test_what_makes_no_sense_is_damage(directory: Path, damage: Callable[[str], None]) -> None:
    damage("UPDATE notes SET value = '{' WHERE name = 'options'")
    with pytest.raises(CrawlError, match=r"the options in .* are damaged"):
        status(in_directory(directory))


@pytest.mark.parametrize(
    ("crawls", "found"),
    [
        (["."], "."),
        ([".", "a"], "."),
        (["a"], "a"),
        (["a", "b"], "there are several crawls here: name one of 'a', 'b' with --dir"),
        ([], "there is no crawl here: name its directory with --dir"),
        (["a/b"], "there is no crawl here: name its directory with --dir"),
    ],
)
def test_which_crawl_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawls: list[str], found: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for crawl in crawls:
        Path(crawl).mkdir(parents=True, exist_ok=True)
        Path(crawl, "crawl.sqlite").touch()
    assert find_crawl(Path("named"), Path()) == Path("named")
    if Path(found).exists():
        assert find_crawl(None, Path()).resolve() == Path(found).resolve()
    else:
        with pytest.raises(UsageError, match=found):
            find_crawl(None, Path())


def test_there_is_no_crawl_where_one_was_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no crawl in .*nowhere: 'gossamer crawls'"):
        status(in_directory(tmp_path / "nowhere"))
