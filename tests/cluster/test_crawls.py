"""`gossamer crawls`: what is in a store or below a directory, and how one gets rid of it."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis_servers import redis_program
from tests.cluster.process_crawl import DELAY_S, seed_and_options

from gossamer.stores.redis.row_keys import REGISTRY, prefix

if TYPE_CHECKING:
    from redis_servers import RedisServer
    from tests.cluster.process_crawl import ProcessCrawl

    from gossamer.testing import Web


def gossamer(*words: object, stdin: int = subprocess.DEVNULL) -> tuple[int, str]:
    """Run the command; return its exit code and all that it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "gossamer", *map(str, words)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


def listed(*words: object) -> dict[str, dict[str, Any]]:
    """Return the crawls that the command lists, by name."""
    code, text = gossamer("crawls", "--json", *words)
    assert code == 0, text
    return {one["name"]: one for one in map(json.loads, text.splitlines())}


@pytest.mark.req("D15", "D19")
def test_the_crawls_of_a_store_are_listed_and_deleted(
    server: "RedisServer", crawl: "ProcessCrawl", web: "Web", tmp_path: Path
) -> None:
    store = ("--store", server.url)
    assert gossamer("crawls", *store) == (0, f"no crawls in {server.url}\n")
    done = ("--name", "done", "--max-pages", "4", "--quiet")
    options = seed_and_options(web, tmp_path / "done", 1, DELAY_S)
    assert gossamer("crawl", *options, *store, *done) == (0, "")
    run = crawl.crawl(delay_s=1.0, lease_s=5.0)
    crawl.await_requests(len(web.requests) + 4)
    with server.client as client:
        client.set(f"{prefix('old')}rules", b"\x82")
        client.sadd(REGISTRY, "old")
    found = listed(*store)
    assert {name: one["state"] for name, one in found.items()} == {
        "done": "finished",
        "old": "outdated",
        crawl.name: "running",
    }
    assert found["done"]["pages"] == 4
    assert found["done"]["urls"] > 4
    assert 10_000 < found["done"]["memory"] < 1_000_000
    assert "was begun with an older version of Gossamer" in found["old"]["trouble"]

    code, said = gossamer("crawls", *store, "--delete", crawl.name, "--yes")
    assert (code, f"the crawl {crawl.name} in {server.url} is worked on" in said) == (1, True)
    code, said = gossamer("crawls", *store, "--delete", "none", "--yes")
    assert (code, "there is no crawl none" in said) == (2, True)
    code, said = gossamer("crawls", *store, "--delete", "done")
    assert (code, "add --yes" in said) == (2, True)
    assert "done" in listed(*store)
    for name in ("done", "old"):
        assert gossamer("crawls", *store, "--delete", name, "--yes")[0] == 0
    with server.client as client:
        assert [*client.scan_iter(match=f"{prefix('done')}*")] == []
    run.signal(signal.SIGTERM)
    assert run.end() == 130
    assert {name: one["state"] for name, one in listed(*store).items()} == {
        crawl.name: "interrupted"
    }


def test_on_a_terminal_it_asks_before_it_deletes(server: "RedisServer") -> None:
    with server.client as client:
        client.set(f"{prefix('mine')}rules", b"\x82")
        client.sadd(REGISTRY, "mine")
    for answer, code, words in (
        ("n", 1, "nothing was deleted"),
        ("y", 0, "deleted the crawl mine"),
    ):
        terminal, stdin = pty.openpty()
        os.write(terminal, f"{answer}\n".encode())
        found = gossamer("crawls", "--store", server.url, "--delete", "mine", stdin=stdin)
        os.close(terminal)
        os.close(stdin)
        assert found[0] == code, found
        assert words in found[1]
    with server.client as client:
        assert client.dbsize() == 0


def test_the_crawls_below_a_directory_are_listed(
    web: "Web", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in a file, those with a Redis of their own, and nothing else."""
    programs = tmp_path / "bin"
    programs.mkdir()
    programs.joinpath("redis-server").symlink_to(redis_program())
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    for name, store in (("file", "sqlite:"), ("own", "redis:")):
        options = seed_and_options(web, tmp_path / name, 1, DELAY_S)
        limits = ("--max-pages", "2", "--quiet", "--store", store)
        assert gossamer("crawl", *options, *limits) == (0, "")
    tmp_path.joinpath("other").mkdir()
    tmp_path.joinpath("broken").mkdir()
    tmp_path.joinpath("broken", "crawl.sqlite").write_text("no database, but long enough" * 40)
    found = {Path(name).name: one for name, one in listed("--dir", tmp_path).items()}
    assert {name: (one["state"], one["pages"]) for name, one in found.items()} == {
        "broken": ("unreadable", 0),
        "file": ("finished", 2),
        "own": ("finished", 2),
    }
    assert all(one["disk"] > 1000 for one in found.values())
    code, said = gossamer("crawls", "--dir", tmp_path, "--delete", "file", "--yes")
    assert (code, "is deleted with its directory" in said) == (2, True)
