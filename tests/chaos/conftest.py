"""A small site with one of everything, the command to crawl it, and what must come of that."""

import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from select import select
from subprocess import PIPE, Popen

import msgspec
import pytest
from crawled import read_urls, stored_results
from process_tree import children, workers_of
from tests.chaos import scraper

from gossamer.stores.bodies import read_content
from gossamer.stores.url_record import UrlState
from gossamer.testing import Pause, Raw, RawStep, Reply, Web
from gossamer.testing.traffic import traffic_of

DRIVER = Path(__file__).with_name("driver.py")
UNEVEN = Path(__file__).with_name("uneven.py")
PATIENCE_S = 45
CONNECTIONS = 4


class GossamerRun:
    """One run of the command, under way or ended."""

    def __init__(self, driver: "Popen[bytes]", output: Path) -> None:
        assert driver.stdout is not None
        self._answers = driver.stdout
        self._output = output
        self._code: int | None = None
        self._step_was_taken = False
        self.pid = int(self._answers.readline())

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    @property
    def has_ended(self) -> bool:
        """Whether there is nobody left to kill."""
        return self._code is not None or bool(select([self._answers], [], [], 0)[0])

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it has not ended by itself."""
        if not self.has_ended:
            os.kill(self.pid, number)

    @property
    def workers(self) -> list[int]:
        """Its worker processes, oldest first."""
        return workers_of(self.pid)

    @property
    def launcher(self) -> int:
        """The process that starts its workers."""
        (found,) = children(self.pid)
        return found

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Return when the condition holds, or else when the run has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition() and not self.has_ended:
            assert time.monotonic() < deadline, self.output
            time.sleep(0.001)

    def end(self) -> int:
        """Wait for the end; return the exit code, or the signal as a negative number."""
        if self._code is None:
            assert select([self._answers], [], [], PATIENCE_S)[0], f"it goes on: {self.output}"
            code, step_was_taken = self._answers.readline().split()
            self._code, self._step_was_taken = int(code), step_was_taken == b"1"
        return self._code

    @property
    def step_was_taken(self) -> bool:
        """Whether one of its processes died at the step of the job; known at its end."""
        self.end()
        return self._step_was_taken

    def succeed(self) -> None:
        """Wait for a good end."""
        assert self.end() == 0, self.output

    def was_killed(self) -> bool:
        """Wait for the end; it is either a kill or a success."""
        assert self.end() in (0, -signal.SIGKILL), self.output
        return self.end() != 0


class Gossamer:
    """The command `gossamer`, run in processes that can be made to die at any step."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._last: GossamerRun | None = None
        # Unbuffered, so that `select` knows of every line that was not read.
        self._driver = Popen([sys.executable, str(DRIVER)], stdin=PIPE, stdout=PIPE, bufsize=0)

    def start(self, *arguments: object, **job: object) -> GossamerRun:
        """Start the command; `job` as in the driver."""
        self._end_last()
        line = {"arguments": [*map(str, arguments)], "output": str(self._output), **job}
        assert self._driver.stdin is not None
        self._driver.stdin.write(msgspec.json.encode(line) + b"\n")
        self._last = GossamerRun(self._driver, self._output)
        return self._last

    def close(self) -> None:
        """Let the driver end."""
        self._end_last()
        with self._driver:
            assert self._driver.stdin is not None
            self._driver.stdin.close()

    def _end_last(self) -> None:
        """Get rid of a run that a failed test has left."""
        if self._last is not None:
            self._last.signal(signal.SIGKILL)
            self._last.end()


@pytest.fixture(scope="session")
def gossamer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gossamer]:
    """The command."""
    running = Gossamer(tmp_path_factory.mktemp("driver") / "output")
    yield running
    running.close()


@pytest.fixture
def other_gossamer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gossamer]:
    """The command once more, to run beside the other."""
    running = Gossamer(tmp_path_factory.mktemp("driver") / "output")
    yield running
    running.close()


@pytest.fixture
def web() -> Iterator[Web]:
    """A web of the test's own."""
    with Web() as running:
        yield running


class Withheld(list[RawStep]):
    """Steps of an answer that begin when a condition holds."""

    def __init__(self, condition: Callable[[], bool], *steps: RawStep) -> None:
        super().__init__(steps)
        self._condition = condition

    def __iter__(self) -> Iterator[RawStep]:
        while not self._condition():
            yield Pause(0.002)
        yield from super().__iter__()


def describe(web: Web) -> None:
    """Describe a site with one of everything that can happen to a URL.

    Over /late the pages from /a/4 on are two links nearer than they are found at first, when some
    are fetched already and some beyond the depth limit.
    """
    site = web.site("127.0.0.1")
    site.robots("User-agent: *\nDisallow: /private/\n")
    leaves = [f"/leaf/{number}" for number in range(12)]
    endings = ["missing", "gone", "private/x", "picture", "broken", "flaky", "big"]
    redirects = ["old", "away", "round/1"]
    home = ["late", "a/1", "list", "duplicate_of-1", "duplicate_of-2", *endings, *redirects]
    site.page("/", links=[f"/{one}" for one in home])
    late = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href='/a/4'>a short cut</a>"
    site.reply("/late", Raw(Withheld(lambda: was_asked(web, "/a/6"), late)))
    for number in range(1, 11):
        site.page(f"/a/{number}", links=[f"/a/{number + 1}", "/", "/list"])
    site.page("/list", links=leaves)
    for leaf in leaves:
        site.page(leaf, links=["/list"], text=leaf * 100)
    for duplicate_of in ("/same-1", "/same-2"):
        site.page(duplicate_of, html="<p>I am unique.")
    site.status("/gone", 410)
    site.reply("/picture", Reply(headers={"Content-Type": "image/png"}, body=b"\x89PNG"))
    site.status("/broken", 500)
    site.reply("/flaky", Reply(status=500), Reply(body="<p>Better now."))
    site.page("/big", html="x" * 100_000)
    site.redirect("/old", "/new")
    site.redirect("/new", "/a/2")
    site.redirect("/away", "http://elsewhere.test/")
    site.redirect("/round/1", "/round/2")
    site.redirect("/round/2", "/round/1")


def was_asked(web: Web, path: str) -> bool:
    return path in [record.path for record in web.requests]


class SmallCrawlResult(msgspec.Struct, frozen=True):
    """What came of a crawl, without what may differ: numbers, times, and which duplicate came
    first."""

    urls: list[tuple[str, str | None, int]]
    """URL, outcome (None: beyond the depth limit) and depth."""
    files: list[tuple[str, int, bytes]]
    """URL, depth and body."""


def read_result(directory: Path, *, with_parts: bool = False) -> SmallCrawlResult:
    """Return what a directory holds, once it is sure that all of it fits together.

    A worker that was killed leaves half a file, with a hidden name, until the next start.
    """
    with closing(sqlite3.connect(f"file:{directory}/crawl.sqlite?mode=ro", uri=True)) as db:
        urls = db.execute("SELECT url, state, outcome, depth FROM urls").fetchall()
        pages = db.execute(
            "SELECT pages.id, urls.page, urls.url, depth, content FROM pages "
            "JOIN urls ON urls.id = pages.url JOIN contents ON contents.page = pages.id "
            "ORDER BY pages.id"
        ).fetchall()
        found, results = [*read_urls(directory).values()], stored_results(db)
    scraper.assert_each_is_there_once(found, results)
    assert {place for _, place, *_ in urls} <= {UrlState.DONE, UrlState.TOO_DEEP}
    assert [page[:2] for page in pages] == [(number, number) for number in range(1, len(pages) + 1)]
    assert sum(outcome == "fetched" for *_, outcome, _ in urls) == len(pages)
    kept = [(url, depth, read_content(content).body()) for _, _, url, depth, content in pages]
    parts = [*(directory / "pages").glob(".*.part")] if with_parts else []
    files = {*(directory / "pages").iterdir()} - {*parts}
    saved = {int(entry.name): entry.read_bytes() for entry in files}
    assert saved == {
        number: b"%s\n%d\n%s" % (url.encode(), depth, body)
        for number, (url, depth, body) in enumerate(kept, 1)
    }
    return SmallCrawlResult(
        sorted((one_name_for_duplicates(url), outcome, depth) for url, _, outcome, depth in urls),
        sorted((one_name_for_duplicates(url), depth, body) for url, depth, body in kept),
    )


def one_name_for_duplicates(url: str) -> str:
    return re.sub("duplicate_of-[0-9]+", "duplicate_of", url)


class SmallCrawl:
    """The crawl of a small site, which may be disturbed, and what must come of it all the same."""

    def __init__(self, gossamer: Gossamer, web: Web) -> None:
        self._gossamer = gossamer
        self._expected: SmallCrawlResult | None = None
        self.web = web
        describe(web)
        modules = ["--module", "save", "--module", f"{UNEVEN}:Uneven"]
        modules += ["--module", scraper.SPEC]
        pace = ["--delay", "0s", "--host-connections", str(CONNECTIONS), "--workers", "2"]
        limits = ["--depth", "6", "--max-page-bytes", "50kB"]
        self._command = ["crawl", f"{web.base_url}/", *modules, *pace, *limits]

    def start(self, directory: Path, *options: object, **job: object) -> GossamerRun:
        """Begin the crawl or go on with it; `job` as in the driver."""
        if not directory.joinpath("crawl.sqlite").exists():
            self.web.clear_requests()
        return self._gossamer.start(*self._command, "--dir", directory, *options, **job)

    def learn(self, directory: Path) -> None:
        """Crawl undisturbed, to see what must come of it."""
        assert self.start(directory).end() == 0
        self._expected = read_result(directory)

    def finish(self, directory: Path) -> None:
        """Go on to the end; all must be as if nothing had happened."""
        self.start(directory).succeed()
        self.check(directory)

    def check(self, directory: Path, *, with_parts: bool = False) -> None:
        """All must be as if nothing had happened, and the site was never asked too much."""
        assert read_result(directory, with_parts=with_parts) == self._expected
        assert traffic_of(self.web.requests, time.monotonic()).most_at_once <= CONNECTIONS
        self.verify(directory)

    def verify(self, directory: Path) -> None:
        """Have the stored state checked, in whichever state it is."""
        run = self._gossamer.start("verify", "--dir", directory)
        assert run.end() == 0, run.output


@pytest.fixture(scope="session")
def crawl(gossamer: Gossamer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCrawl]:
    """The crawl of the small site."""
    with Web() as running:
        small = SmallCrawl(gossamer, running)
        small.learn(tmp_path_factory.mktemp("undisturbed"))
        yield small
