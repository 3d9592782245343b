"""A Redis, a small web on several hosts, processes that crawl it, and what must come of that."""

import asyncio
import os
import re
import secrets
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import msgspec
import pytest
from redis_servers import LOOPBACK, PATIENCE_S, RedisServer, StartServer, wait_until
from threaded_proxy import ThreadedProxy

from gossamer.stores.contract import PageRecord, UrlRecord, UrlState
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.open import open_reader
from gossamer.testing import Reply, RequestRecord, Web, read_urls

HOSTS = ("a.localhost", "b.localhost", "c.localhost", "d.localhost")
"""Names that lead to this machine without anybody being asked."""
LEAVES = 10
DELAY_S = 0.1
LEASE_S = 2.0


ALWAYS = ("appendonly yes", "appendfsync always")


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    with closing(StartServer(tmp_path)) as start:
        yield start


@pytest.fixture
def server(start_server: StartServer) -> RedisServer:
    """A server that has on its disk whatever it has answered."""
    return start_server(*ALWAYS)


@pytest.fixture
def make_proxy() -> Iterator[Callable[[int], ThreadedProxy]]:
    """Put a proxy before a port."""
    proxies: list[ThreadedProxy] = []

    def make(port: int) -> ThreadedProxy:
        proxies.append(ThreadedProxy(port))
        return proxies[-1]

    yield make
    for proxy in proxies:
        proxy.close()


class Running:
    """One process of `gossamer`, with what it prints in a file."""

    def __init__(self, output: Path, arguments: list[str], environment: dict[str, str]) -> None:
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gossamer", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, **environment},
                cwd=output.parent,
            )
        self.pid = self._process.pid

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for the end; return the exit code."""
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it goes on after {patience_s:g} s: {self.output}")

    def succeed(self) -> str:
        """Wait for a good end; return what it has printed."""
        assert self.end() == 0, self.output
        return self.output


class Result(msgspec.Struct, frozen=True):
    """What came of a crawl, without what may differ: ports, numbers, and which duplicate came
    first."""

    urls: list[tuple[str, str | None, int]]
    """URL, outcome (None: beyond the depth limit) and depth."""
    files: list[tuple[str, int, bytes]]
    """URL, depth and body."""


class Crawl:
    """A crawl of a web over a store, under a name of its own, and its processes."""

    def __init__(self, folder: Path, web: Web, url: str) -> None:
        self.web = web
        self.url = url
        self.name = f"test-{secrets.token_hex(4)}"
        self.folder = folder / self.name
        self.folder.mkdir()
        self._runs: list[Running] = []

    # -- its processes ---------------------------------------------------------------------------

    def run(self, command: str, *arguments: object, **environment: str) -> Running:
        """Start a command about this crawl, with variables of its environment."""
        words = [command, *map(str, arguments), "--name", self.name]
        variables = {"GOSSAMER_STORE": self.url, **environment}
        output = self.folder / f"output-{len(self._runs)}"
        self._runs.append(Running(output, words, variables))
        return self._runs[-1]

    def crawl(
        self,
        *options: object,
        workers: int = 2,
        delay_s: float = DELAY_S,
        lease_s: float = LEASE_S,
        **environment: str,
    ) -> Running:
        """Start the command that crawls."""
        usual = seed_and_options(self.web, self.folder, workers, delay_s, lease_s)
        return self.run("crawl", *usual, *options, **environment)

    def worker(self, *options: object, **environment: str) -> Running:
        """Have one more worker join."""
        return self.run("worker", "--dir", self.folder, *options, **environment)

    def pids(self, role: str) -> list[int]:
        """Return the processes that play a role, oldest first."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                words = entry.joinpath("cmdline").read_bytes().split(b"\0")
                if role.encode() in words and self.name.encode() in words:
                    found.append(int(entry.name))
        return sorted(found)

    def await_pids(self, role: str, count: int) -> list[int]:
        """Return the processes that play a role once there are so many."""
        wait_until(lambda: len(self.pids(role)) >= count)
        return self.pids(role)

    def await_gone(self, *roles: str) -> None:
        """Wait until nobody plays these roles."""
        wait_until(lambda: not any(self.pids(role) for role in roles))

    def await_words(self, run: Running, words: str) -> None:
        """Wait until a process has said something."""
        wait_until(lambda: words in run.output)

    def await_health(self, code: int, *arguments: object) -> None:
        """Wait until `gossamer health` ends with that code."""
        wait_until(lambda: self.run("health", *arguments).end() == code)

    def everything_said(self) -> str:
        """Return what all commands have printed."""
        return "".join(run.output for run in self._runs)

    def await_requests(self, count: int) -> None:
        """Wait until the web was asked so often."""
        self.web.wait_for_requests(count, PATIENCE_S)

    def close(self) -> None:
        """End what a failed test has left."""
        for role in ("crawl", "frontier", "worker"):
            for pid in self.pids(role):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for run in self._runs:
            run.end()

    # -- what came of it -------------------------------------------------------------------------

    def verify(self) -> None:
        """Have the stored state checked."""
        assert "is sound" in self.run("verify").succeed()

    def result(self) -> Result:
        """Return what is in the store, once it is sure that the saved files say the same."""
        records, pages, bodies = asyncio.run(read_all(self.url, self.name))
        assert {record.state for record in records} <= {UrlState.DONE, UrlState.TOO_DEEP}
        assert [page.id for page in pages] == [*range(1, len(pages) + 1)]
        assert Counter(page.url for page in pages).most_common(1)[0][1] == 1
        found = [(page.url, page.depth, body) for page, body in zip(pages, bodies, strict=True)]
        assert saved_files(self.folder) == {
            number: b"%s\n%d\n%s" % (url.encode(), depth, body)
            for number, (url, depth, body) in enumerate(found, 1)
        }
        return as_result(self.web, records, found)

    def saved(self) -> dict[int, bytes]:
        """Return the files of the pages by their numbers."""
        return saved_files(self.folder)

    def assert_polite(self) -> None:
        """The server's log shows never two requests to a host at once, nor one too soon."""
        assert impolite(self.web.requests, DELAY_S) == []


async def read_all(url: str, name: str) -> tuple[list[UrlRecord], list[PageRecord], list[bytes]]:
    """Return every URL, every page, and the bodies of the pages."""
    reader = await open_reader(parse_address(url), name)
    try:
        records = [record async for record in reader.records()]
        pages = [page async for page in reader.pages()]
        bodies = [await reader.content(page.id) or b"" for page in pages]
    finally:
        await reader.close()
    return records, pages, bodies


def saved_files(folder: Path) -> dict[int, bytes]:
    """Return what the module `save` has written; a killed worker leaves hidden files."""
    entries = folder.joinpath("pages").iterdir()
    return {int(one.name): one.read_bytes() for one in entries if not one.name.startswith(".")}


def as_result(
    web: Web, records: list[UrlRecord], pages: Sequence[tuple[str, int, bytes]]
) -> Result:
    port = f":{web.address[1]}"

    def plain(url: str) -> str:
        return re.sub("duplicate_of-[0-9]+", "duplicate_of", url.replace(port, ""))

    return Result(
        sorted(
            ((plain(one.url), one.outcome, one.depth) for one in records),
            key=lambda row: (row[0], row[2]),
        ),
        sorted((plain(url), depth, body.replace(port.encode(), b"")) for url, depth, body in pages),
    )


def impolite(records: list[RequestRecord], delay_s: float) -> list[tuple[str, str, float]]:
    """Return each request that came too soon after another to its host: both paths and the gap."""
    found = []
    for host in {record.host for record in records}:
        mine = sorted((one for one in records if one.host == host), key=lambda one: one.started)
        for one, following in pairwise(mine):
            gap_s = following.started - one.ended
            if gap_s < delay_s:
                found.append((host + one.path, following.path, gap_s))
    return found


def describe(web: Web) -> None:
    """Describe four hosts that link to each other, with one of everything that can happen."""
    port = web.address[1]
    homes = [f"http://{host}:{port}/" for host in HOSTS]
    for host in HOSTS:
        site = web.site(host)
        site.robots("User-agent: *\nDisallow: /private/\n")
        leaves = [f"/leaf/{number}" for number in range(LEAVES)]
        endings = ["/gone", "/missing", "/private/x", "/old", "/same-1", "/same-2", "/flaky"]
        site.page("/", links=["/way/1", *endings, *leaves, *homes], text=host * 30)
        for number in range(1, 8):
            site.page(f"/way/{number}", links=[f"/way/{number + 1}", "/"], text=f"{host} {number}")
        for leaf in leaves:
            site.page(leaf, links=["/", homes[0], "/leaf/0"], text=f"{host}{leaf} " * 50)
        for duplicate_of in ("/same-1", "/same-2"):
            site.page(duplicate_of, html=f"<p>I am unique on {host}.")
        site.status("/gone", 410)
        site.redirect("/old", "/new")
        site.redirect("/new", "/way/2")
        site.reply("/flaky", Reply(status=500), Reply(body=f"<p>Better now, says {host}."))


def seed_and_options(
    web: Web, folder: Path, workers: int, delay_s: float = DELAY_S, lease_s: float = LEASE_S
) -> list[str]:
    """Return what to crawl and how."""
    seed = f"http://{HOSTS[0]}:{web.address[1]}/"
    feedback = ["--delay", f"{delay_s * 1000:g}ms", "--lease", f"{lease_s:g}s"]
    limits = ["--scope", "any", "--depth", "5", "--similarity", "1"]
    own = ["--allow-network", f"{LOOPBACK}/32", "--allow-network", "::1/128"]
    rest = ["--workers", str(workers), "--dir", str(folder), "--module", "save"]
    return [seed, *feedback, *limits, *own, *rest]


@pytest.fixture
def make_web() -> Iterator[Callable[[], Web]]:
    """Serve the small web once more."""
    with ExitStack() as stack:

        def make() -> Web:
            web = stack.enter_context(Web())
            describe(web)
            return web

        yield make


@pytest.fixture
def web(make_web: Callable[[], Web]) -> Web:
    """The small web."""
    return make_web()


class MakeCrawl(Protocol):
    """Makes a crawl over the store at a URL, of the small web or of another."""

    def __call__(self, url: str, web: Web | None = None) -> Crawl: ...


@pytest.fixture
def make_crawl(tmp_path: Path, web: Web) -> Iterator[MakeCrawl]:
    small_web, made = web, list[Crawl]()

    def make(url: str, web: Web | None = None) -> Crawl:
        made.append(Crawl(tmp_path, web or small_web, url))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def crawl(make_crawl: MakeCrawl, server: RedisServer) -> Crawl:
    """A crawl of the small web over the server."""
    return make_crawl(server.url)


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What comes of the crawl in one process, with a file for a store."""
    folder = tmp_path_factory.mktemp("embedded")
    with Web() as web:
        describe(web)
        arguments = ["crawl", *seed_and_options(web, folder, 1)]
        run = Running(folder / "output", arguments, {})
        run.succeed()
        records = [*read_urls(folder).values()]
        assert impolite(web.requests, DELAY_S) == []
        pages = [content.split(b"\n", 2) for content in saved_files(folder).values()]
        found = [(url.decode(), int(depth), body) for url, depth, body in pages]
        return as_result(web, records, found)
