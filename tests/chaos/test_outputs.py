"""Outputs under kills, a full disk and Ctrl-C: exactly the pages that the crawl has, each once."""

import csv
import io
import json
import os
import random
import secrets
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from process_tree import children, workers_of, writers_of
from redis_servers import RedisServer
from tests.chaos.conftest import Withheld, was_asked
from tests.chaos.test_full_disk import mount

from gossamer.testing import Raw, Reply, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer, GossamerRun

PAGES = 90
Key = tuple[int, str, int]


def describe_site(web: Web) -> None:
    """Describe a site of which some pages are found over a long path first."""
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(PAGES)]
    site.page("/", links=["/late", "/chain/1", *paths[::2]])
    late = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href='/chain/9'>a short cut</a>"
    site.reply("/late", Raw(Withheld(lambda: was_asked(web, "/chain/12"), late)))
    for number in range(1, 15):
        site.page(f"/chain/{number}", links=[f"/chain/{number + 1}"], text=f"chain {number}")
    for path in paths:
        body = f"<title>{path}</title><a href='/{int(path[1:]) + 1}'>next</a> unique {path * 9}"
        site.reply(path, Reply(body=body, delay_s=0.02))


class OutputCrawl:
    """A crawl with outputs, in either store."""

    def __init__(self, gossamer: "Gossamer", web: Web, folder: Path, store: str | None) -> None:
        self._gossamer = gossamer
        describe_site(web)
        self.web = web
        self.folder = folder
        self._where = ["--dir", folder / "crawl"]
        if store:
            self._where += ["--store", store, "--name", secrets.token_hex(4)]
        self._command = ["crawl", f"{web.base_url}/", *self._where, "--similarity", "1"]
        self._command += ["--delay", "0s", "--host-connections", "4", "--workers", "2"]
        self._command += ["--lease", "2s"]

    def start(self, *outputs: str, **job: object) -> "GossamerRun":
        words = [word for one in outputs for word in ("-o", self.folder / one)]
        if any(one.endswith((".jsonl", ".csv")) for one in outputs):
            words += ["--fields", "id,url,depth,title"]
        return self._gossamer.start(*self._command, *words, **job)

    def pages(self) -> list[Key]:
        """Return the pages as the store has them."""
        where = self._where if len(self._where) == 2 else self._where[2:]
        run = self._gossamer.start("pages", "--json", *where)
        run.succeed()
        listed = [json.loads(line) for line in run.output.splitlines()]
        return [(one["id"], one["url"], one["depth"]) for one in listed]

    def rows(self, name: str) -> list[Key]:
        """Return the rows of an output, sorted."""
        path = self.folder / name
        if name.endswith(".csv"):
            rows = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
        else:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        return sorted((int(row["id"]), row["url"], int(row["depth"])) for row in rows)


@pytest.fixture(params=["sqlite", "redis"])
def output_crawl(
    request: pytest.FixtureRequest, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> OutputCrawl:
    store = request.getfixturevalue("redis_url") if request.param == "redis" else None
    return OutputCrawl(gossamer, web, tmp_path, store)


FIND: dict[str, Callable[[int], list[int]]] = {
    "writer": writers_of,
    "worker": workers_of,
    "launcher": children,
    "command": lambda pid: [pid],
}


@pytest.mark.req("B1", "B9", "D16")
def test_killed_at_random_moments_outputs_are_exact(
    output_crawl: OutputCrawl, chaos_seed: int
) -> None:
    """The writer, a worker, the launcher or the whole command is killed, again and again."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    names = ("pages.jsonl", "pages.csv")
    run = output_crawl.start(*names)
    for victim in ("writer", "launcher", "worker", "writer", "command"):
        least = len(output_crawl.web.requests) + rng.randrange(5, 20)
        find = FIND[victim]
        run.wait_for(lambda: len(output_crawl.web.requests) >= least and bool(find(run.pid)))  # noqa: B023
        run.wait_for((output_crawl.folder / "pages.jsonl.part").exists)
        replaced = run.output.count("is replaced")
        for one in [] if run.has_ended else find(run.pid)[:1]:
            os.kill(one, signal.SIGKILL)
        if victim != "command":
            run.wait_for(lambda: run.output.count("is replaced") > replaced)  # noqa: B023
    run.end()
    output_crawl.start(*names).succeed()
    expected = output_crawl.pages()
    assert len(expected) > PAGES
    assert {name: output_crawl.rows(name) for name in names} == dict.fromkeys(names, expected)
    assert not list(output_crawl.folder.glob("*.part"))


@pytest.mark.req("B1", "D15")
def test_a_server_that_comes_back_was_waited_for(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The coordinator and the writer say that they try again, and do.

    So does a writer that is started meanwhile.
    """
    with closing(RedisServer(tmp_path / "redis", "appendonly yes")) as server:
        crawl = OutputCrawl(gossamer, web, tmp_path, server.start().url)
        run = crawl.start("pages.jsonl", "pages.csv")
        for times, victims in ((1, 0), (2, 1)):
            least = len(web.requests) + 15
            run.wait_for(lambda: len(web.requests) >= least)  # noqa: B023
            run.wait_for((tmp_path / "pages.jsonl.part").exists)
            server.kill()
            for one in writers_of(run.pid)[:victims]:
                os.kill(one, signal.SIGKILL)
            run.wait_for(lambda: run.output.count("is replaced") >= victims)  # noqa: B023
            run.wait_for(lambda: run.output.count("; trying again.") >= 2 * times)  # noqa: B023
            server.start()
        run.succeed()
        with server.client as client:
            assert client.info("stats")["total_connections_received"] < 40, "it keeps its reader"
        expected = crawl.pages()
    assert len(expected) > PAGES
    assert crawl.rows("pages.jsonl") == crawl.rows("pages.csv") == expected


def test_after_ctrl_c_outputs_are_complete_and_go_on(output_crawl: OutputCrawl) -> None:
    output_crawl.web.site("127.0.0.1").page("/late")  # it is not waited for
    run = output_crawl.start("pages.jsonl", "pages.csv")
    run.wait_for(lambda: len(output_crawl.web.requests) >= 20)
    run.signal(signal.SIGINT)
    assert run.end() == 130, run.output
    first = output_crawl.pages()
    assert output_crawl.rows("pages.jsonl") == output_crawl.rows("pages.csv") == first
    # One more output than before: it has all pages, too.
    output_crawl.start("pages.jsonl", "pages.csv", "more.jsonl").succeed()
    expected = output_crawl.pages()
    assert len(expected) > len(first)
    for name in ("pages.jsonl", "pages.csv", "more.jsonl"):
        assert output_crawl.rows(name) == expected


@pytest.mark.parametrize("output_crawl", ["sqlite"], indirect=True)
def test_a_full_disk_stops_the_crawl_which_goes_on_when_there_is_room(
    output_crawl: OutputCrawl, tmp_path_factory: pytest.TempPathFactory
) -> None:
    disk = tmp_path_factory.mktemp("disk")
    if not mount(disk, "size=4k"):
        pytest.skip("a small file system can only be mounted by root")
    try:
        (output_crawl.folder / "disk").symlink_to(disk)
        run = output_crawl.start("disk/pages.jsonl")
        assert run.end() == 1, run.output
        *_, last = run.output.splitlines()
        assert last.startswith("gossamer: cannot write the output ")
        assert "No space left on device; make room and run the same command again" in last
        assert "Traceback" not in run.output
        assert mount(disk, "remount,size=5m")
        output_crawl.start("disk/pages.jsonl").succeed()
        assert output_crawl.rows("disk/pages.jsonl") == output_crawl.pages()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
