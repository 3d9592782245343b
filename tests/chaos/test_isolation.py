"""A page that crashes, hangs or bursts the process that reads it costs itself, and nothing else."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis_servers import RedisServer

from gossamer.testing import Reply, Web
from gossamer.testing.traffic import traffic_of

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer

CRASHES = """\
import os, signal
class Poisoned:
    def page(self, page):
        if page.url.endswith("/poison"):
            os.kill(os.getpid(), signal.SIGKILL)
"""
ABORTS = """\
import os
class Poisoned:
    on_loop = True
    async def page(self, page):
        if page.url.endswith("/poison"):
            os.abort()
"""
EXITS = """\
import os
class Poisoned:
    def page(self, page):
        if page.url.endswith("/poison"):
            os._exit(3)
"""
BLOATS = """\
from gossamer.content.page_parser import PageParser

parse = PageParser.parse

def parse_with_a_huge_tree(parser, page, **named):
    if page.url.endswith("/poison"):
        bytearray(8_000_000_000)
    return parse(parser, page, **named)

PageParser.parse = parse_with_a_huge_tree

class Poisoned:
    def page(self, page):
        pass
"""
BURSTS = """\
class Poisoned:
    on_loop = True
    def page(self, page):
        if page.url.endswith("/poison"):
            held = []
            while True:
                held.append(bytes(64_000_000))
"""
HANGS = """\
import time
class Poisoned:
    on_loop = True
    def page(self, page):
        while page.url.endswith("/poison"):
            time.sleep(60)  # as good as computing, and others have the core
"""
PAGES = 40
GOOD_PAGES = 35
"""They take longer than it takes to end a worker that hangs."""


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that name a crawl and its store."""
    directory = ["--dir", str(tmp_path / "crawl")]
    if request.param == "sqlite":
        yield directory
        return
    server = RedisServer(tmp_path / "redis")
    server.start()
    yield [*directory, "--store", server.url, "--name", "isolation"]
    server.close()


def where(store: list[str]) -> list[str]:
    """Return the options that name the crawl to commands which read it."""
    return store[2:] or store


def module_in(folder: Path, source: str) -> list[str]:
    """Return the option for a module of this source."""
    file = folder / "poisoned.py"
    file.write_text(source, encoding="utf-8")
    return ["--module", f"{file}:Poisoned"]


def assert_given_up(gossamer: "Gossamer", url: str, store: list[str]) -> None:
    """The page, and no other, was given up; and people are told why."""
    told = gossamer.start("explain", url, *where(store))
    told.succeed()
    assert "gave up: it crashed three workers" in told.output
    gossamer.start("verify", *where(store)).succeed()


@pytest.mark.req("B1", "B10", "C12", "D16")
@pytest.mark.parametrize(
    ("store", "source", "words"),
    [
        ("sqlite", CRASHES, "died (signal 9) and is replaced"),
        ("sqlite", ABORTS, "died (signal 6) and is replaced"),
        ("sqlite", EXITS, "died (exit code 3) and is replaced"),
        ("sqlite", BLOATS, "died (exit code 12) and is replaced"),
        ("redis", CRASHES, "died (signal 9) and is replaced"),
    ],
    ids=["crashes", "aborts", "exits", "bloats", "crashes-redis"],
    indirect=["store"],
)
def test_a_page_that_ends_its_worker_costs_itself_only(
    source: str, words: str, store: list[str], gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """Those that are in progress beside it are fetched, and kept once."""
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(PAGES)]
    site.page("/", links=[*paths[:5], "/poison", *paths[5:]])
    for path in [*paths, "/poison"]:
        site.reply(path, Reply(body=path, delay_s=0.01))
    pace = ["--delay", "0s", "--host-connections", "8", "--workers", "2"]
    modules = ["--module", "save", *module_in(tmp_path, source)]
    run = gossamer.start("crawl", f"{web.base_url}/", *store, *pace, *modules)
    run.succeed()
    assert run.output.count(words) == 3, run.output
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert set(asked) == {"/", "/poison", *paths}
    assert asked["/poison"] == 3
    assert asked.total() <= len(asked) + 3 * 8, "what was in progress beside it"
    assert traffic_of(web.requests, time.monotonic()).most_at_once <= 8
    saved = [one for one in (tmp_path / "crawl" / "pages").iterdir() if one.name[0] != "."]
    urls = Counter(one.read_text().partition("\n")[0] for one in saved)
    poison = f"{web.base_url}/poison"
    assert urls == Counter(f"{web.base_url}{path}" for path in ["/", *paths])
    listed = gossamer.start("pages", *where(store))
    listed.succeed()
    assert poison not in listed.output
    assert_given_up(gossamer, poison, store)


@pytest.mark.req("B1")
@pytest.mark.parametrize("store", ["sqlite", "redis"], indirect=True)
def test_a_page_that_is_given_up_leaves_no_file(
    store: list[str], gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """It is the last one: no other page gets its number, and with it its file."""
    site = web.site("127.0.0.1")
    site.page("/", links=["/poison"])
    site.page("/poison")
    modules = ["--module", "save", *module_in(tmp_path, CRASHES)]
    gossamer.start("crawl", f"{web.base_url}/", *store, "--delay", "0s", *modules).succeed()
    assert [one.name for one in (tmp_path / "crawl" / "pages").iterdir()] == ["1"]


@pytest.mark.req("B1", "B10", "C12", "D16")
def test_a_page_that_hangs_its_worker_holds_up_no_other_host(
    store: list[str], gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The worker is ended when it was silent for too long, three times; the other one goes on.

    That one does not get the page, as whoever replaces the dead has less to do: unless both have
    just nothing, since the router of a shared store comes a moment after a settlement.
    """
    bad, good = web.site("bad.test"), web.site("good.test")
    bad.page("/", links=["/poison", "/1", "/2", "/3"], text="bad")
    for path in ("/poison", "/1", "/2", "/3"):
        bad.page(path, text=f"bad{path}")
    good.page("/", links=[f"/{number}" for number in range(GOOD_PAGES)], text="good")
    for number in range(GOOD_PAGES):
        good.page(f"/{number}", text=f"good {number}")
    seeds = ["http://bad.test/", "http://good.test/"]
    options = ["--delay", "200ms", "--workers", "2", "--lease", "6s"]
    own = ["--allow-network", "127.0.0.1/32", *module_in(tmp_path, HANGS)]
    run = gossamer.start("crawl", *seeds, *store, *options, *own, dns=dict(web.dns))
    run.succeed()
    assert run.output.count("was silent for 5 s: ended") == 3
    assert run.output.count("died (signal 9) and is replaced") == 3
    asked = Counter((one.host, one.path) for one in web.requests if one.path != "/robots.txt")
    assert asked.pop(("bad.test", "/poison")) == 3
    assert len(asked) == 4 + 1 + GOOD_PAGES
    is_shared = "--store" in store
    assert asked.total() <= len(asked) + (2 if is_shared else 0)
    hung_at, again_at, _ = (one.started for one in web.requests if one.path == "/poison")
    starts = [one.started for one in web.requests_to("good.test")]
    starts = [hung_at, *(one for one in starts if hung_at < one < again_at), again_at]
    assert again_at - hung_at > 5.0
    assert max(later - before for before, later in pairwise(starts)) < 2.0
    assert traffic_of(web.requests, time.monotonic()).min_gap_s >= 0.2  # type: ignore[operator]
    assert_given_up(gossamer, "http://bad.test/poison", store)


@pytest.mark.req("B1", "C12")
def test_a_module_that_allocates_without_end_fails_at_that_page_only(
    store: list[str], gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The memory of a worker is limited: it is an error of the module, not the machine's end."""
    site = web.site("127.0.0.1")
    paths = ["/poison", *[f"/{number}" for number in range(PAGES)]]
    site.page("/", links=paths)
    for path in paths:
        site.page(path, text=path)
    pace = ["--delay", "0s", "--host-connections", "8", "--workers", "2"]
    modules = ["--module", "save", *module_in(tmp_path, BURSTS)]
    run = gossamer.start("crawl", f"{web.base_url}/", *store, *pace, *modules)
    run.succeed()
    assert "/poison): MemoryError" in run.output
    assert "died" not in run.output
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert set(asked) == {"/", *paths}
    assert set(asked.values()) == {1}
    assert len([*(tmp_path / "crawl" / "pages").iterdir()]) == len(asked)
    gossamer.start("verify", *where(store)).succeed()


FORKS = """\
import os, time
class Poisoned:
    def page(self, page):
        if page.url.endswith("/3") and not os.fork():
            time.sleep(60)
            os._exit(0)
"""


@pytest.mark.req("B1")
def test_a_process_that_a_module_leaves_behind_does_not_hold_up_the_end(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """It has a copy of all that the worker has, its channel too."""
    site = web.site("127.0.0.1")
    site.page("/", links=[f"/{number}" for number in range(5)])
    for number in range(5):
        site.page(f"/{number}")
    begun = time.monotonic()
    run = gossamer.start(
        *["crawl", f"{web.base_url}/", "--dir", tmp_path / "crawl", "--delay", "0s"],
        *module_in(tmp_path, FORKS),
    )
    run.succeed()
    assert time.monotonic() - begun < 20
