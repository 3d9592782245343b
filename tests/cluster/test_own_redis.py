"""`--store redis:`: one command that starts a Redis of its own, and leaves nothing behind."""

import fcntl
import os
import signal
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis
from process_tree import is_alive
from redis_servers import redis_program, wait_until
from tests.chaos import scraper

from gossamer.stores.directory import is_own_redis

if TYPE_CHECKING:
    from tests.cluster.conftest import MakeCrawl
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl

LONG_LEASE_S = 30.0
GONE_WITHIN_S = 2.0


@pytest.fixture(autouse=True)
def server_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server of the tests on the PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    programs.joinpath("redis-server").symlink_to(redis_program())
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)


@pytest.fixture
def crawl(make_crawl: "MakeCrawl") -> "ProcessCrawl":
    """A crawl of the small web with a Redis of its own."""
    return make_crawl("redis:")


def has_server(crawl: "ProcessCrawl") -> bool:
    """Tell whether the server is there: it has the lock."""
    if not is_own_redis(crawl.folder):
        return False
    with crawl.folder.joinpath("redis", "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def pid_of_server(crawl: "ProcessCrawl") -> int:
    """Return the process of the server, which runs."""
    with redis.Redis(unix_socket_path=str(crawl.folder / "redis" / "socket")) as client:
        return int(client.info("server")["process_id"])


@pytest.mark.req("D15", "D16")
def test_one_command_sets_up_everything_and_takes_it_down(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    """A second coordinator is refused meanwhile, and workers may join: here they do all of it."""
    run = crawl.crawl(workers=0)
    wait_until(lambda: has_server(crawl))
    second = crawl.crawl()
    assert second.end() == 1
    assert "another process is crawling into" in second.output
    joined = crawl.worker()
    assert "the crawl is over" in joined.succeed()
    said = run.succeed()
    assert "warning" not in said
    assert not has_server(crawl)
    assert stat.S_IMODE(crawl.folder.joinpath("redis").stat().st_mode) == 0o700
    for file in crawl.folder.joinpath("redis", "appendonlydir").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert crawl.result() == expected
    assert "finished: no URLs left" in crawl.ask("status").succeed()
    crawl.verify()
    crawl.assert_polite()


def test_a_finished_crawl_is_read(crawl: "ProcessCrawl") -> None:
    limited = ("--max-pages", "4")
    crawl.crawl(*limited).succeed()
    assert "this crawl is finished" in crawl.crawl(*limited).succeed()
    assert crawl.ask("pages").succeed().count("http://") == 4
    before = len(crawl.log())
    assert ", 8 records" in crawl.ask("replay", "--module", scraper.SPEC).succeed()
    assert [one.page_id for one in crawl.log()[before:]] == [None] * 4
    crawl.verify()
    assert not has_server(crawl)


@pytest.mark.req("B1", "B3", "D15", "D16")
def test_after_ctrl_c_the_same_command_continues_without_a_rest(
    make_crawl: "MakeCrawl", expected: "CrawlResult", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has lost nothing, so no lease is waited for. The path is too long for a socket."""
    crawl = make_crawl("redis:")
    crawl.folder /= "x" * 100
    crawl.folder.mkdir()
    sockets = crawl.folder.parent.parent / "run"
    sockets.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    monkeypatch.setenv("TMPDIR", str(sockets))
    run = crawl.crawl(delay_s=1.0, lease_s=LONG_LEASE_S)
    crawl.await_requests(8)
    assert "  running" in crawl.ask("status").succeed()
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert not has_server(crawl)
    assert "interrupted" in crawl.ask("status").succeed()
    begun = time.monotonic()
    crawl.crawl(lease_s=LONG_LEASE_S).succeed()
    assert time.monotonic() - begun < LONG_LEASE_S
    assert crawl.result() == expected
    assert [*sockets.iterdir()] == []
    crawl.assert_polite()
    crawl.verify()


@pytest.mark.req("B1", "B3", "D15", "D16")
def test_a_command_that_is_killed_leaves_no_server_behind(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl(delay_s=1.0, lease_s=LONG_LEASE_S)
    crawl.await_requests(8)
    server = pid_of_server(crawl)
    os.kill(run.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(server), GONE_WITHIN_S)
    run.end()
    crawl.await_gone()
    wait_until(lambda: not has_server(crawl), GONE_WITHIN_S)
    assert "gossamer resume" in crawl.ask("status").succeed()
    crawl.verify()
    begun = time.monotonic()
    crawl.crawl(lease_s=LONG_LEASE_S).succeed()
    assert time.monotonic() - begun < LONG_LEASE_S
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
    assert not has_server(crawl)


@pytest.mark.req("B1", "B3", "D15")
def test_a_server_that_dies_is_started_again(
    crawl: "ProcessCrawl", expected: "CrawlResult"
) -> None:
    run = crawl.crawl(delay_s=0.3)
    crawl.await_requests(15)
    os.kill(pid_of_server(crawl), signal.SIGKILL)
    assert "The store does not answer" in run.succeed()
    assert crawl.result() == expected
    assert not has_server(crawl)
    crawl.assert_polite()
    crawl.verify()


def test_what_is_not_its_own_is_left_alone(crawl: "ProcessCrawl") -> None:
    foreign = crawl.folder / "redis" / "dump.rdb"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    run = crawl.crawl("--fresh")
    assert run.end() == 2
    assert f"{foreign.parent} was not written by Gossamer" in run.output
    assert [*foreign.parent.iterdir()] == [foreign]
    assert foreign.read_text() == "mine"


def test_a_directory_holds_one_crawl(crawl: "ProcessCrawl") -> None:
    """Neither another one in the same Redis nor one in a file."""
    run = crawl.crawl()
    crawl.await_requests(3)
    run.signal(signal.SIGINT)
    run.end()
    name, crawl.name = crawl.name, "other"
    other = crawl.crawl()
    assert other.end() == 2
    assert f"holds the crawl {name}" in other.output
    in_file = crawl.crawl(GOSSAMER_STORE="sqlite:")
    assert in_file.end() == 2
    assert "holds a crawl in a Redis of its own: add --store redis:" in in_file.output
    assert not crawl.folder.joinpath("crawl.sqlite").exists()


def test_without_a_server_to_start_it_says_what_to_install(
    crawl: "ProcessCrawl", tmp_path: Path
) -> None:
    none = crawl.crawl(PATH=str(tmp_path / "empty"))
    assert none.end() == 1
    assert "there is no redis-server or valkey-server on the PATH: install one" in none.output
    left = {path.name for path in crawl.folder.iterdir()}
    assert left == {"output-0"}, "nothing but what the test itself has written"
    assert "Traceback" not in crawl.everything_said()


def test_a_server_that_cannot_start_is_told_with_its_own_words(
    crawl: "ProcessCrawl", tmp_path: Path
) -> None:
    """A broken installation has no log of its own yet."""
    broken = tmp_path / "broken"
    broken.mkdir()
    program = broken / "redis-server"
    program.write_text(
        "#!/bin/sh\necho 'liblzf.so.1: cannot open shared object file' >&2\nexit 127\n"
    )
    program.chmod(0o755)
    failed = crawl.crawl(PATH=f"{broken}{os.pathsep}{os.environ['PATH']}")
    assert failed.end() == 1
    assert "did not start (liblzf.so.1: cannot open shared object file)" in failed.output
    assert "Traceback" not in failed.output
